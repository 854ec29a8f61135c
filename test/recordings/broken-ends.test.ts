/**
 * Recorded responses that end too early but cleanly, as a gateway ends them when the provider behind it goes away: no connection breaks,
 * and only the missing end of the response tells.
 */
import type { Recording } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { LEFT_OUT } from '../exchanges/read.ts';
import { callBoundaries, PLACES, placeIn } from './broken-places.ts';
import { endedAt } from './broken-server.ts';
import { comparable, playBroken, SUBJECTS, unbroken } from './broken-support.ts';

const streams = SUBJECTS.filter(({ exchanges }) => exchanges.some(({ response }) => response.sse !== undefined));

async function expectWholeOrNotAtAll(recording: Recording, index: number, bytes: number): Promise<void> {
  const expected = await unbroken(recording);
  const outcome = await playBroken(recording, {
    mayPass: true,
    damage: (at, attempt, recorded) => (at === index && attempt === 1 ? endedAt(recorded, bytes) : undefined),
  });
  if (expected.isSteady) {
    const where = `exchange ${index}, ${bytes} bytes`;
    expect(comparable(outcome, { usage: false }), where).toEqual(comparable(expected, { usage: false }));
  }
}

describe(`a stream that ends before its end${LEFT_OUT}`, () => {
  it.each(streams.map(recording => [recording.name, recording] as const))(
    '%s: at every place of every exchange it is asked for again, unless only the usage was missing',
    async (_, recording) => {
      for (const [index, { response }] of recording.exchanges.entries()) {
        for (const [seed, place] of PLACES.entries()) {
          await expectWholeOrNotAtAll(recording, index, placeIn(response, place, seed));
        }
        for (const place of callBoundaries(response, 5)) await expectWholeOrNotAtAll(recording, index, place);
      }
    },
  );
});
