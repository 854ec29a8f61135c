/** Simulated sessions: random scripts, crashes, faults of the store, people who answer late, and the invariants after each event. */
import { expect, it } from 'vitest';
import { simulateSeed } from './simulate.ts';

const SEEDS = 5_000;

it(`no invariant is broken in ${SEEDS} simulated sessions`, { timeout: 300_000 }, async () => {
  const stages = { crashed: 0, twice: 0, effects: 0, statuses: new Set<string>() };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const outcome = await simulateSeed(seed).catch(cause => {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
    if (outcome.lives > 1) stages.crashed += 1;
    if (outcome.lives > 2) stages.twice += 1;
    stages.effects += outcome.effects;
    for (const { status } of outcome.results) stages.statuses.add(status);
  }
  // The scripts are worth something only if they get somewhere.
  expect(stages.crashed).toBeGreaterThan(SEEDS / 4);
  expect(stages.twice).toBeGreaterThan(SEEDS / 20);
  expect(stages.effects).toBeGreaterThan(SEEDS);
  expect(stages.statuses).toEqual(new Set(['done', 'failed', 'interrupted']));
});
