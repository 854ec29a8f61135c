/** The packages of older generations of the AI SDK: connections that break off, and errors, are to them what they are to the newest. */
import { describe, expect, it } from 'vitest';
import { LEFT_OUT } from '../exchanges/read.ts';
import { callBoundaries, PLACES, placeIn } from './broken-places.ts';
import { type Answer, cutAt, endedAt, failing } from './broken-server.ts';
import { comparable, modelErrorOf, playBroken, problem, SUBJECTS, unbroken } from './broken-support.ts';
import { GENERATIONS } from './packages.ts';

const subjects = GENERATIONS.filter(generation => generation !== 7).flatMap(generation =>
  SUBJECTS.map(recording => [generation, recording.name, recording] as const),
);

const streams = subjects.filter(([, , { exchanges }]) => exchanges[0]?.response.sse !== undefined);

describe(`with packages of AI SDK 6 and 5${LEFT_OUT}`, () => {
  it.each(subjects)('%i, %s: what breaks once in every exchange changes nothing', async (generation, _, recording) => {
    const expected = await unbroken(recording, generation);
    const busy = failing(529, { body: problem('overloaded'), headers: { 'retry-after': '3' } });
    for (const place of ['the middle', undefined] as const) {
      const outcome = await playBroken(recording, {
        generation,
        damage: (_index, attempt, recorded): Answer | undefined => {
          if (attempt > 1) return undefined;
          return place === undefined ? busy : cutAt(recorded, placeIn(recorded, place, generation));
        },
      });
      if (expected.isSteady) expect(comparable(outcome), place).toEqual(comparable(expected));
    }
  });

  it.each(subjects)('%i, %s: what breaks for ever ends the turn', async (generation, _, recording) => {
    for (const index of new Set([0, recording.exchanges.length - 1])) {
      const place = PLACES[1 + (index % (PLACES.length - 1))]!;
      const { turns } = await playBroken(recording, {
        generation,
        untilFailure: true,
        damage: (at, attempt, recorded) =>
          at === index && attempt <= 3 ? cutAt(recorded, placeIn(recorded, place, index)) : undefined,
      });
      const { kind, attempts } = modelErrorOf(turns.at(-2)!);
      expect(['request_failed', 'stream_broken']).toContain(kind);
      expect(attempts).toBe(3);
    }
  });

  // They have no word for a stream that ended too early: a text is then taken for the answer, with a finish reason that tells nothing.
  it.each(streams)('%i, %s: a stream that ends before its end runs no half call', async (generation, _, recording) => {
    for (const bytes of callBoundaries(recording.exchanges[0]!.response, 4)) {
      await playBroken(recording, {
        generation,
        mayPass: true,
        damage: (index, attempt, recorded) => (index === 0 && attempt === 1 ? endedAt(recorded, bytes) : undefined),
      });
    }
  });
});
