/** Many readers and many turns at once, over real sockets. `npm run bench:server` measures the same beside a bare server. */
import { defineLoop, defineRig, defineTool, EVENT_DURABILITY, memoryStore, recordedEvents } from 'looprig';
import { forever, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { post, readEvents } from '../../bench/server/readers.ts';
import { serve } from './setup.ts';

const STREAMS = 200;
const TURNS = 50;
const STEPS = 3;

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.number() }),
  execute: ({ at }) => `saw ${at}`,
});

const model = scriptedModel([
  forever(({ prompt }) => {
    const asked = prompt.filter(({ role }) => role === 'assistant').length;
    const text = { text: 'One piece and another.', deltas: 4 };
    if (asked >= STEPS) return text;
    return {
      ...text,
      calls: [0, 1].map(at => ({ tool: 'look', input: { at: asked * 2 + at }, id: `c${asked}-${at}` })),
    };
  }),
]);

it('200 readers of 50 turns get every enduring event, once and in order', { timeout: 60_000 }, async () => {
  const store = memoryStore();
  const rig = defineRig({ loops: [defineLoop({ name: 'load', model, tools: [look] })], store });
  await using server = await serve(rig);
  const begun = await Promise.all(Array.from({ length: TURNS }, () => server.client.begin()));
  const readings = Array.from({ length: STREAMS }, (_, index) => {
    const sessionId = begun[index % TURNS]!;
    return { sessionId, reading: readEvents(server.url, `/v1/sessions/${sessionId}/events`, 1) };
  });
  await Promise.all(readings.map(({ reading }) => reading.opened));
  await Promise.all(begun.map(id => post(server.url, `/v1/sessions/${id}/turns`, { input: 'Go.' })));
  for (const { sessionId, reading } of readings) {
    const recorded: number[] = [];
    const ids = await reading.ids;
    const eventOf = recordedEvents(sessionId);
    for await (const record of store.read(sessionId, 1)) {
      const event = eventOf(record);
      if (event !== undefined && EVENT_DURABILITY[event.type] === 'enduring') recorded.push(event.seq);
    }
    expect(recorded.length).toBeGreaterThan(STEPS * 6);
    expect(ids).toEqual(recorded);
  }
  for (const { reading } of readings) reading.stop();
});
