/**
 * Runs simulated sessions for many seeds: `npm run simulate -- --seeds 100000 [--from 1] [--workers 2]`. Says how it goes, and with
 * the first seed that breaks something, what broke and how to run it alone; then it exits with 1.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runCampaign } from '../test/simulate/campaign.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: `${availableParallelism()}` },
  },
});

const seeds = wholeNumber('seeds', values.seeds);
const from = wholeNumber('from', values.from);
const workers = wholeNumber('workers', values.workers);

const startedAt = performance.now();
const seconds = (): number => (performance.now() - startedAt) / 1_000;
const rate = (count: number): string => `${Math.round(count / seconds())} a second`;
let nextWord = 10;

const { begun, broken } = await runCampaign({
  worker: new URL('../test/simulate/worker.ts', import.meta.url),
  ...{ from, seeds, workers },
  onSeed(count) {
    if (seconds() < nextWord) return;
    nextWord = seconds() + 10;
    console.log(`${count} of ${seeds} seeds, ${rate(count)}`);
  },
});

console.log(`${begun} seeds from ${from} in ${seconds().toFixed(1)} s, ${rate(begun)}, by ${workers} processes`);
if (broken === undefined) console.log('no invariant was broken');
else {
  console.error(`seed ${broken.seed}: ${broken.message}`);
  console.error(`alone: npm run simulate -- --seeds 1 --from ${broken.seed}`);
  process.exitCode = 1;
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  console.error(`--${name} must be a whole number from 1, not "${text}"`);
  process.exit(1);
}
