/**
 * The guard against slips: what a step, a call, a delta and an import cost, in what can be counted, beside the baseline of `guard.json`.
 * `npm run check` runs it on the built package, and it fails where something has grown by more than its margin; `npm run guard:renew`
 * writes a baseline anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { areOfTime, type Baseline, figuresOf, RENEW, slipsOf, timesOf, told } from './guard-figures.ts';

const FILE = new URL('guard.json', import.meta.url);
const baseline = JSON.parse(readFileSync(FILE, 'utf8')) as Baseline;

let measured = await figuresOf('looprig');
if (process.argv.includes('--renew')) {
  writeFileSync(FILE, `${JSON.stringify({ ...baseline, figures: measured }, undefined, 2)}\n`);
  console.log(`${Object.keys(measured).length} figures written to bench/guard.json`);
} else {
  let slips = slipsOf(baseline, measured);
  // A slip in time must show each time: a measurement may have met a machine that had no moment to spare.
  for (let again = 0; again < 3 && areOfTime(slips); again++) {
    measured = { ...measured, ...(await timesOf('looprig')) };
    slips = slipsOf(baseline, measured);
  }
  for (const [name, now] of Object.entries(measured)) {
    console.log(`${name}: ${told(now)} (${told(baseline.figures[name] ?? Number.NaN)})`);
  }
  if (slips.length > 0) {
    console.error(`\nlooprig costs more than it did:\n${slips.map(slip => `  ${slip}`).join('\n')}`);
    console.error(`If it is worth that: ${RENEW}.`);
    process.exitCode = 1;
  }
}
