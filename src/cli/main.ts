#!/usr/bin/env node
/** The entry of the program: joins it to the process. */
import { systemClock } from '../index.ts';
import { EXIT } from './conclude.ts';
import type { StopReason } from './host.ts';
import { runProgram } from './program.ts';

const stopping = new AbortController();
const quitting = new AbortController();
let stoppedStatus: number = EXIT.interrupted;

function stop(reason: StopReason, status: number): void {
  stoppedStatus = status;
  if (!stopping.signal.aborted) {
    stopping.abort(reason);
    return;
  }
  quitting.abort();
  process.exit(status);
}

let taker: (() => void) | undefined;
process.on('SIGINT', () => (taker === undefined ? stop('SIGINT', EXIT.interrupted) : taker()));
process.on('SIGTERM', () => stop('SIGTERM', EXIT.terminated));
process.on('exit', () => quitting.abort()); // however it ends, the terminal is left as it was
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`looprig: standard output cannot be written (${error.code}): look where it leads to\n`);
    process.exit(EXIT.failed);
  }
  // A reader that went away (`| head`) has what it wanted: that is no failure.
  if (!stopping.signal.aborted) stop('output closed', EXIT.done);
});
process.stderr.on('error', () => {}); // nobody is told of the progress then; the answer still comes

// Where nothing is left to wait for, Node ends, whatever is awaited still.
const gaveUp = (): void => {
  process.stderr.write(
    'looprig: it cannot go on: something is awaited that never settles, as may be at the top of a configuration, or in a tool\n',
  );
  process.exit(EXIT.failed);
};
process.once('beforeExit', gaveUp);

const end = await runProgram(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  stop: stopping.signal,
  quit: quitting.signal,
  takeInterrupts: given => {
    taker = given;
  },
});
process.off('beforeExit', gaveUp);
process.exitCode = end.exitStatus === EXIT.interrupted ? stoppedStatus : end.exitStatus;
if (end.isLeftRunning) process.exit();
