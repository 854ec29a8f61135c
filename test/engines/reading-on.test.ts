/** Reading a session's events from any place in it. */
import { defineLoop, defineRig, defineTool, isTerminal, type SessionEvent } from 'looprig';
import { createHost, type SessionHost } from 'looprig/engines';
import { scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  execute: ({ at }) => `saw ${at}`,
});

/** The events after a record, until so many turns have ended. */
async function eventsAfter(
  host: SessionHost,
  sessionId: string,
  after: number,
  turns: number,
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of host.events(sessionId, { after })) {
    events.push(event);
    if (isTerminal(event) && --turns === 0) break;
  }
  return events;
}

it('gives the same events, word for word, wherever it begins', async () => {
  const step = (...places: string[]) => ({
    text: `I look at ${places.join(' and ')}.`,
    calls: places.map(at => ({ tool: 'look', input: { at } })),
  });
  const model = scriptedModel([step('a', 'b'), step('c'), { text: 'Seen.' }, step('d'), { text: 'Seen again.' }]);
  await using host = createHost({ rig: defineRig({ loops: [defineLoop({ name: 'watch', model, tools: [look] })] }) });
  const sessionId = await host.begin();
  await host.submit(sessionId, 'Look.');
  await host.submit(sessionId, 'Again.');
  const isRecorded = ({ type }: SessionEvent): boolean => !type.endsWith('.delta');
  const whole = (await eventsAfter(host, sessionId, 0, 2)).filter(isRecorded);
  const { lastSeq } = await host.find(sessionId);
  const ends = whole.filter(isTerminal).map(({ seq }) => seq);
  for (let after = 0; after < lastSeq; after++) {
    const left = ends.filter(seq => seq > after).length;
    const read = (await eventsAfter(host, sessionId, after, left)).filter(isRecorded);
    expect({ after, read }).toEqual({ after, read: whole.filter(({ seq }) => seq > after) });
  }
});
