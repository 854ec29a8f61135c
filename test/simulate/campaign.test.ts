/** What finds broken seeds finds them: a simulation that reports nothing must mean something. */
import { describe, expect, it } from 'vitest';
import { runCampaign } from './campaign.ts';

const worker = new URL('./broken-worker.ts', import.meta.url);

describe('a campaign', { timeout: 60_000 }, () => {
  it('begins each seed once where all hold', async () => {
    const counts: number[] = [];
    const all = { worker, from: 1, seeds: 69, workers: 2, onSeed: (begun: number) => void counts.push(begun) };
    expect(await runCampaign(all)).toEqual({ begun: 69, broken: undefined });
    expect(counts).toEqual(Array.from({ length: 69 }, (_, index) => index + 1));
  });

  it('gives the lowest seed that breaks something, whichever process comes first', async () => {
    const { broken } = await runCampaign({ worker, from: 1, seeds: 200, workers: 3 });
    expect(broken).toMatchObject({ seed: 70, message: expect.stringContaining('invariant 1: seed 70 is odd') });
  });

  it('tells of a seed that ends its process', async () => {
    const { broken } = await runCampaign({ worker, from: 201, seeds: 20, workers: 1 });
    expect(broken).toMatchObject({ seed: 210, message: expect.stringContaining('the process ended with 7') });
  });

  it('tells of a rejection that nobody handles', async () => {
    const { broken } = await runCampaign({ worker, from: 301, seeds: 20, workers: 1 });
    expect(broken).toMatchObject({ seed: 310, message: expect.stringContaining('nobody waits for this') });
  });

  it('tells of a seed that hangs', async () => {
    const { broken } = await runCampaign({ worker, from: 401, seeds: 20, workers: 1, hangMs: 3_000 });
    expect(broken).toEqual({ seed: 401, message: 'it did not end within 3000 ms' });
  });
});
