/**
 * Processes are killed at random moments of real turns, with real tools that write real files, and others take their sessions up.
 * `LOOPRIG_KILLS` says how many are killed; `LOOPRIG_CRASH_FROM` is the first seed, and `LOOPRIG_CRASH_SEED`
 * plays one session alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Campaign, type Played } from './campaign.ts';
import { Lives } from './lives.ts';
import { STAGES } from './stages.ts';

const KILLS = Number(process.env.LOOPRIG_KILLS ?? 200);
const FROM = Number(process.env.LOOPRIG_CRASH_FROM ?? 1);
const ALONE = process.env.LOOPRIG_CRASH_SEED;
/** How many processes run at a time. */
const AT_ONCE = 2;
/** After so many sessions that went wrong nothing new is learnt. */
const MOST_FAILURES = 5;
/** Far more than is needed: a process that hangs is found by itself. */
const MOST_MS = 120_000 + KILLS * 3_000;

const root = mkdtempSync(join(tmpdir(), 'looprig-crash-'));
const lives = new Lives(join(root, 'compiled'));
const campaign = new Campaign(root, lives);
const played: Played[] = [];

beforeAll(async () => {
  if (ALONE !== undefined) {
    played.push(await campaign.play(Number(ALONE)));
    return;
  }
  let seed = FROM;
  const killed = (): number => played.reduce((sum, { kills }) => sum + kills, 0);
  const failures = (): number => played.filter(({ problems }) => problems.length > 0).length;
  const work = async (): Promise<void> => {
    while (killed() < KILLS && failures() < MOST_FAILURES) played.push(await campaign.play(seed++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}, MOST_MS);

afterAll(() => {
  lives.end();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('a session whose processes are killed', () => {
  it('runs no finished call twice, misses none, says what is unknown, and asks the model with valid requests', () => {
    const failed = played.filter(({ problems }) => problems.length > 0);
    const told = failed.map(
      ({ seed, play, problems }) => `LOOPRIG_CRASH_SEED=${seed} ("${play}"):\n  ${problems.join('\n  ')}`,
    );
    expect(told.join('\n')).toBe('');
  });

  it.runIf(ALONE === undefined)('was killed often enough, and at every stage of its work', () => {
    const counts = new Map(STAGES.map(stage => [stage, 0]));
    for (const stage of played.flatMap(({ stages }) => stages)) counts.set(stage, counts.get(stage)! + 1);
    const kills = played.reduce((sum, one) => sum + one.kills, 0);
    const left = Map.groupBy(
      played.flatMap(one => one.left),
      reason => `turn left for another input: ${reason}`,
    );
    const all = [...counts, ...[...left].map(([reason, { length }]) => [reason, length] as const)];
    const lines = all.map(([stage, count]) => `${String(count).padStart(6)}  ${stage}`);
    console.log(`${kills} kills in ${played.length} sessions; a kill can hit several stages:\n${lines.join('\n')}`);
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    expect([...counts].filter(([, count]) => count === 0)).toEqual([]);
    expect(left.size).toBe(2);
  });
});
