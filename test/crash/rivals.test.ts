/** Two processes take up the same unfinished session at about the same time: one goes on, the other is told, and nothing happens twice. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Campaign } from './campaign.ts';
import { Lives } from './lives.ts';

const root = mkdtempSync(join(tmpdir(), 'looprig-rivals-'));
const lives = new Lives(join(root, 'compiled'));
const campaign = new Campaign(root, lives);

afterAll(() => {
  lives.end();
  rmSync(root, { recursive: true, force: true });
});

describe('two processes that take up one session', () => {
  it('do nothing twice; one ends the play, and the other finds it ended or gets a JournalConflictError', async () => {
    const lost: string[] = [];
    for (let seed = 1; seed <= 8; seed += 1) {
      const { ends, problems } = await campaign.rivals(seed);
      expect(problems, `rivals of seed ${seed}, which ended ${ends.join(' and ')}`).toEqual([]);
      expect(ends).toContain('finished');
      expect(ends.filter(end => end !== 'finished' && end !== 'lost')).toEqual([]);
      lost.push(...ends.filter(end => end === 'lost'));
    }
    expect(lost.length).toBeGreaterThan(0);
  }, 200_000);
});
