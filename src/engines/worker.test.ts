import { defineLoop, defineRig, defineTool, memoryStore } from 'looprig';
import { forever, manualClock, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { storeOver } from '../../test/support/store-over.ts';
import { Feeds } from './feed.ts';
import { watchOf } from './watch.ts';
import { Worker } from './worker.ts';

const signals = { cancelled: new AbortController().signal };

/** A worker whose looks into the store, tools' ends and answers take as long as a test says. */
async function bench(keepSessions = 100) {
  const clock = manualClock();
  const store = memoryStore();
  const mailbox = store.mailbox!;
  const lives: string[] = [];
  const held: { look?: Promise<void>; end?: Promise<void>; answerMs?: number } = {};
  const tool = defineTool({
    name: 'work',
    description: 'Works.',
    input: { type: 'object' },
    create() {
      lives.push('built');
      return {
        execute: () => 'done',
        async [Symbol.asyncDispose]() {
          await held.end;
          lives.push('gone');
        },
      };
    },
  });
  const model = scriptedModel(
    forever(() => ({ text: 'done', delayMs: held.answerMs ?? 0 })),
    { clock },
  );
  const rig = defineRig({ loops: [defineLoop({ name: 'clerk', model, tools: [tool] })], store, clock });
  const looked = storeOver(store, {
    async find(sessionId) {
      await held.look;
      return store.find(sessionId);
    },
  });
  const watch = watchOf(store, mailbox, clock);
  const times = { gateTimeoutMs: rig.gateTimeoutMs, keepMs: 100 };
  const parts = { mailbox, watch, clock, ...times, keepSessions, onRefusal: () => {}, isOneOfSeveral: true };
  const open: typeof rig.open = options => rig.open(options);
  const worker = new Worker(
    { open, store: looked, clock },
    parts,
    new Feeds({ store, watch, clock, onError: () => {} }),
    async () => {},
  );
  const first = await rig.begin();
  const run = async (turnId: string, sessionId = first) => {
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi.' }] };
    await mailbox.post(sessionId, { mailId: turnId, at: 0, content: { type: 'submit', turnId, message } });
    return worker.run({ sessionId, turnId }, signals);
  };
  return { clock, worker, lives, held, run, begin: () => rig.begin() };
}

it('a session that leaves while its next turn is taken up is gone before it comes again, and lives once', async () => {
  const { clock, worker, lives, held, run } = await bench();
  expect(await run('first')).toEqual({ status: 'done' });
  const [look, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  Object.assign(held, { look: look.promise, end: end.promise });
  const second = run('second');
  await clock.advance(100); // it leaves now
  look.resolve();
  await clock.advance(0);
  expect(lives).toEqual(['built']);
  end.resolve();
  expect(await second).toEqual({ status: 'done' });
  expect(lives).toEqual(['built', 'gone', 'built']);
  expect(worker.size).toBe(1);
  await worker.close(0);
  expect(lives).toEqual(['built', 'gone', 'built', 'gone']);
});

it('a session that is kept has its next turn as it is, and leaves when nothing more comes', async () => {
  const { clock, worker, lives, run } = await bench();
  await run('first');
  await clock.advance(99);
  expect(await run('second')).toEqual({ status: 'done' });
  await clock.advance(99);
  expect({ lives, size: worker.size }).toEqual({ lives: ['built'], size: 1 });
  await clock.advance(1);
  expect({ lives, size: worker.size }).toEqual({ lives: ['built', 'gone'], size: 0 });
});

it.each([0, 1, 3])(
  '%i sessions without a turn are kept at most, and it is the longest idle one that leaves',
  async most => {
    const { clock, worker, lives, run, begin } = await bench(most);
    const sessions = [await begin(), await begin(), await begin(), await begin(), await begin()];
    for (const sessionId of sessions) await run('first', sessionId);
    await clock.advance(0);
    expect(worker.size).toBe(most);
    lives.length = 0;
    const kept = sessions.slice(sessions.length - most);
    for (const sessionId of kept) await run('second', sessionId);
    await clock.advance(0);
    expect({ lives, size: worker.size }).toEqual({ lives: [], size: most });
    await run('third', sessions[0]);
    await clock.advance(0);
    expect({ lives, size: worker.size }).toEqual({ lives: ['built', 'gone'], size: most });
    await worker.close(0);
    expect(worker.size).toBe(0);
  },
);

it('a session whose turn runs is not among those that are kept, and stays', async () => {
  const { clock, worker, held, run, begin } = await bench(1);
  const [one, two, three] = [await begin(), await begin(), await begin()];
  await run('first', one);
  held.answerMs = 50;
  const second = run('second', one);
  await clock.advance(0);
  held.answerMs = 0;
  await run('first', two);
  await clock.advance(0);
  expect(worker.size).toBe(2);
  await run('first', three);
  await clock.advance(0);
  expect({ size: worker.size, runs: worker.find(one) !== undefined }).toEqual({ size: 2, runs: true });
  await clock.advance(50);
  expect(await second).toEqual({ status: 'done' });
  await clock.advance(0);
  expect(worker.size).toBe(1);
});
