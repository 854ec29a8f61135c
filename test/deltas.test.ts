/** A long answer in small pieces: what its readers get, however they read. */
import { defineLoop, defineRig, type TurnEvent } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';

const COUNT = 20_000;
const MOST_WAITING = 1_024;
const deltas = Array.from({ length: COUNT }, (_, index) => ` ${index}`);
const text = deltas.join('');

function open() {
  return defineRig({ loops: [defineLoop({ name: 'talker', model: scriptedModel([{ deltas }]) })] }).open();
}

async function read(events: AsyncIterable<TurnEvent>): Promise<{ deltas: string[]; dropped: number; last: TurnEvent }> {
  const seen: string[] = [];
  let dropped = 0;
  let last: TurnEvent | undefined;
  for await (const event of events) {
    if (event.type === 'text.delta') seen.push(event.text);
    if (event.type === 'events.dropped') dropped += event.count;
    last = event;
  }
  if (last === undefined) throw new Error('the reader got nothing');
  return { deltas: seen, dropped, last };
}

it('a reader that reads nothing until the end holds 1,024 events, is told how many it lost, and the text is whole', async () => {
  const session = await open();
  const turn = session.submit('talk');
  const reader = turn.subscribe();
  const result = await turn.result;
  expect(result).toMatchObject({ status: 'done', text });

  const got = await read(reader);
  // What waited before the first delta: `turn.started` and `step.started`.
  expect(got.deltas).toEqual(deltas.slice(0, MOST_WAITING - 2));
  expect(got.dropped).toBe(COUNT - got.deltas.length);
  expect(got.last).toMatchObject({ type: 'turn.done', text });
  await session.close();
});

it('a reader that stands still in the middle gets what came before and after, in order, and a count for the rest', async () => {
  const session = await open();
  const turn = session.submit('talk');
  const seen: number[] = [];
  let dropped = 0;
  for await (const event of turn) {
    if (event.type === 'events.dropped') dropped += event.count;
    if (event.type !== 'text.delta') continue;
    seen.push(Number(event.text));
    if (seen.length === 5_000) await turn.result;
  }
  expect(seen.slice(0, 5_000)).toEqual(Array.from({ length: 5_000 }, (_, index) => index));
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  expect(seen.length).toBeLessThanOrEqual(5_000 + MOST_WAITING);
  expect(seen.length + dropped).toBe(COUNT);
  await session.close();
});

it('readers that keep up get each delta once, in order, beside one that does not', async () => {
  const session = await open();
  const turn = session.submit('talk');
  const still = turn.subscribe();
  const readers = await Promise.all([read(turn), read(turn)]);
  for (const got of readers) {
    expect(got.deltas).toEqual(deltas);
    expect(got.dropped).toBe(0);
  }
  expect((await read(still)).deltas.length).toBeLessThan(MOST_WAITING);
  await session.close();
});

it('a delta reaches a reader that waits for it while the stream stands still', async () => {
  const model = scriptedModel([{ deltas: ['one', ' two', ' three'], hangAfter: 3 }]);
  const session = await defineRig({ loops: [defineLoop({ name: 'talker', model })] }).open();
  const turn = session.submit('talk');
  const seen: string[] = [];
  for await (const event of turn) {
    if (event.type !== 'text.delta') continue;
    seen.push(event.text);
    if (seen.length === 1) turn.interrupt('that is enough');
  }
  expect(seen).toEqual(['one']);
  await expect(turn.result).resolves.toMatchObject({ status: 'interrupted', text: 'one' });
  await session.close();
});
