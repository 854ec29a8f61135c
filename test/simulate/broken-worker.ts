/** A child process whose seeds break in every way that there is. */
import { serveSeeds } from './serve.ts';

serveSeeds(async seed => {
  if (seed === 70 || seed === 130) throw new Error(`invariant 1: seed ${seed} is odd`);
  if (seed === 210) process.exit(7);
  if (seed === 310) void Promise.reject(new Error('nobody waits for this'));
  if (seed === 401) await new Promise(() => {});
});
