/** Error responses in the place of recorded ones, at every exchange of every recording. */
import type { Recording } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { LEFT_OUT } from '../exchanges/read.ts';
import { closing, failing } from './broken-server.ts';
import {
  comparable,
  expectFailedTurn,
  type Outcome,
  playBroken,
  problem,
  SUBJECTS,
  unbroken,
} from './broken-support.ts';

const subjects = SUBJECTS.map(recording => [recording.name, recording] as const);

function waits({ turns }: Outcome): readonly number[] {
  return turns.flatMap(({ events }) =>
    events.flatMap(event => (event.type === 'step.retrying' ? [event.delayMs] : [])),
  );
}

/** Gives the waits before the retries, where the recording has no need of retries by itself. */
async function expectUnchanged(recording: Recording, outcome: Outcome): Promise<readonly number[]> {
  const expected = await unbroken(recording);
  if (!expected.isSteady) return [];
  expect(comparable(outcome)).toEqual(comparable(expected));
  expect(outcome.asked.slice(0, recording.exchanges.length)).toEqual(recording.exchanges.map(() => 2));
  return waits(outcome);
}

describe(`an error in the place of a response${LEFT_OUT}`, () => {
  it.each(subjects)('%s: 429 once in every exchange is waited for as long as it says', async (_, recording) => {
    const busy = failing(429, { body: problem('slow down'), headers: { 'retry-after': '7' } });
    const outcome = await playBroken(recording, { damage: (_index, attempt) => (attempt === 1 ? busy : undefined) });
    for (const ms of await expectUnchanged(recording, outcome)) expect(ms).toBe(7_000);
  });

  it.each(subjects)('%s: 500 once in every exchange is tried again after a second at most', async (_, recording) => {
    const fault = failing(500, { body: problem('our fault') });
    const outcome = await playBroken(recording, { damage: (_index, attempt) => (attempt === 1 ? fault : undefined) });
    for (const ms of await expectUnchanged(recording, outcome)) {
      expect(ms).toBeGreaterThanOrEqual(500);
      expect(ms).toBeLessThanOrEqual(1_000);
    }
  });

  it.each(subjects)(
    '%s: a connection closed without a word, once in every exchange, changes nothing',
    async (_, recording) => {
      const outcome = await playBroken(recording, {
        damage: (_index, attempt) => (attempt === 1 ? closing : undefined),
      });
      await expectUnchanged(recording, outcome);
    },
  );

  it.each([
    ...subjects.map(([name, recording]) => [name, 400, 2, 1, recording] as const),
    ...subjects.map(([name, recording]) => [name, 500, 2, 3, recording] as const),
    ...subjects.map(([name, recording]) => [name, 429, 0, 1, recording] as const),
  ])(
    '%s: %i in each exchange, with %i retries, ends the turn after attempt %i',
    async (_, status, modelRetries, attempts, recording) => {
      for (const index of recording.exchanges.keys()) {
        const refusal = failing(status, { body: problem('no') });
        const outcome = await playBroken(recording, {
          modelRetries,
          untilFailure: true,
          damage: (at, attempt) => (at === index && attempt <= attempts ? refusal : undefined),
        });
        await expectFailedTurn(recording, outcome, { index, attempts, kind: 'request_failed' });
      }
    },
  );
});
