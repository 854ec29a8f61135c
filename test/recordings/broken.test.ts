/**
 * Connections that break off in recorded exchanges, at every exchange of every recording. A turn ends as if nothing had broken where a
 * retry brings the whole response, and says honestly what happened where none does.
 */
import { describe, expect, it } from 'vitest';
import { LEFT_OUT } from '../exchanges/read.ts';
import { callBoundaries, PLACES, placeIn, placesFor } from './broken-places.ts';
import { cutAt } from './broken-server.ts';
import { comparable, expectFailedTurn, playBroken, SUBJECTS, unbroken } from './broken-support.ts';

/** How many of the places around the calls of a response are tried. */
const MOST_BOUNDARIES = 5;

const subjects = SUBJECTS.map(recording => [recording.name, recording] as const);

describe(`a connection that breaks off${LEFT_OUT}`, () => {
  it.each(subjects)('%s: once in every exchange, at every place, changes nothing', async (_, recording) => {
    const expected = await unbroken(recording);
    for (const [seed, place] of PLACES.entries()) {
      const outcome = await playBroken(recording, {
        damage: (_index, attempt, recorded) =>
          attempt === 1 ? cutAt(recorded, placeIn(recorded, place, seed)) : undefined,
      });
      if (!expected.isSteady) continue;
      expect(comparable(outcome), place).toEqual(comparable(expected));
      expect(outcome.asked.slice(0, recording.exchanges.length)).toEqual(recording.exchanges.map(() => 2));
    }
  });

  it.each(subjects)('%s: twice in every exchange changes nothing', async (_, recording) => {
    const expected = await unbroken(recording);
    const outcome = await playBroken(recording, {
      damage: (index, attempt, recorded) =>
        attempt <= 2
          ? cutAt(recorded, placeIn(recorded, PLACES[(index + 2 * attempt) % PLACES.length]!, index + 7))
          : undefined,
    });
    if (!expected.isSteady) return;
    expect(comparable(outcome)).toEqual(comparable(expected));
    expect(outcome.asked.slice(0, recording.exchanges.length)).toEqual(recording.exchanges.map(() => 3));
  });

  it.each(subjects)('%s: in each exchange, without retries, ends the turn honestly', async (_, recording) => {
    for (const index of recording.exchanges.keys()) {
      for (const [seed, place] of placesFor(recording.exchanges[index]!.response).entries()) {
        const outcome = await playBroken(recording, {
          modelRetries: 0,
          untilFailure: true,
          damage: (at, attempt, recorded) =>
            at === index && attempt === 1 ? cutAt(recorded, placeIn(recorded, place, seed + index)) : undefined,
        });
        await expectFailedTurn(recording, outcome, { index, attempts: 1 });
      }
    }
  });

  it.each(subjects)('%s: in each exchange, again and again, ends the turn after its retries', async (_, recording) => {
    for (const index of recording.exchanges.keys()) {
      const outcome = await playBroken(recording, {
        untilFailure: true,
        damage: (at, attempt, recorded) =>
          at === index && attempt <= 3 ? cutAt(recorded, placeIn(recorded, PLACES[attempt]!, index)) : undefined,
      });
      await expectFailedTurn(recording, outcome, { index, attempts: 3 });
    }
  });

  it.each(subjects)('%s: around its calls runs none of them by halves', async (_, recording) => {
    const expected = await unbroken(recording);
    const places = recording.exchanges.map(({ response }) => callBoundaries(response, MOST_BOUNDARIES));
    for (const index of recording.exchanges.keys()) {
      for (const place of places[index]!) {
        const outcome = await playBroken(recording, {
          modelRetries: 0,
          untilFailure: true,
          damage: (at, attempt, recorded) => (at === index && attempt === 1 ? cutAt(recorded, place) : undefined),
        });
        await expectFailedTurn(recording, outcome, { index, attempts: 1 });
      }
    }
    for (let nth = 0; nth < MOST_BOUNDARIES; nth++) {
      const outcome = await playBroken(recording, {
        damage: (index, attempt, recorded) => (attempt === 1 ? cutAt(recorded, places[index]![nth] ?? 0) : undefined),
      });
      if (expected.isSteady) expect(comparable(outcome)).toEqual(comparable(expected));
    }
  });
});
