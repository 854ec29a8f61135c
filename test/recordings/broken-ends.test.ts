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

/** How many of the places around the calls of a response are tried. */
const MOST_BOUNDARIES = 8;

const streams = SUBJECTS.filter(({ exchanges }) => exchanges.some(({ response }) => response.sse !== undefined));

/** Where to end each exchange, once; an exchange has one place of each list. */
function endsOf({ exchanges }: Recording): readonly (readonly number[])[] {
  const around = exchanges.map(({ response }) => callBoundaries(response, MOST_BOUNDARIES));
  return [
    ...PLACES.map((place, seed) => exchanges.map(({ response }) => placeIn(response, place, seed))),
    ...Array.from({ length: MOST_BOUNDARIES }, (_, nth) =>
      exchanges.map((_exchange, index) => around[index]![nth] ?? 0),
    ),
  ];
}

describe(`a stream that ends before its end${LEFT_OUT}`, () => {
  it.each(streams.map(recording => [recording.name, recording] as const))(
    '%s: at every place of every exchange it is asked for again, unless only the usage was missing',
    async (_, recording) => {
      const expected = await unbroken(recording);
      for (const ends of endsOf(recording)) {
        const outcome = await playBroken(recording, {
          mayPass: true,
          damage: (index, attempt, recorded) => (attempt === 1 ? endedAt(recorded, ends[index]!) : undefined),
        });
        if (!expected.isSteady) continue;
        expect(comparable(outcome, { usage: false }), `ended at ${ends}`).toEqual(
          comparable(expected, { usage: false }),
        );
      }
    },
  );
});
