/** A child process of `scripts/simulate.ts`. */
import { serveSeeds } from './serve.ts';
import { simulateSeed } from './simulate.ts';

serveSeeds(simulateSeed);
