/**
 * What tools really did, kept apart from any journal: a file that grows by one line a fact, each in one write, so that what a process wrote
 * before it was killed is there. Read by those who check what the journal says. Uses Node alone: processes that import it start fast.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** One fact. `life` counts the processes of one session from 1. */
export type LedgerLine =
  /** A process looked at the store, and found so many records there: what the one before it left. */
  | { readonly type: 'life'; readonly life: number; readonly lastSeq: number }
  /** A tool began to take effect, or was through with it. */
  | {
      readonly type: 'begin' | 'end';
      readonly life: number;
      readonly callId: string;
      readonly toolName: string;
      readonly input: unknown;
    }
  /** The process was killed. */
  | { readonly type: 'death'; readonly life: number };

/** Appends one line. */
export function writeLedger(file: string, line: LedgerLine): void {
  const handle = openSync(file, 'a');
  try {
    writeSync(handle, `${JSON.stringify(line)}\n`);
  } finally {
    closeSync(handle);
  }
}

/** All lines; none where there is no file yet. */
export function readLedger(file: string): readonly LedgerLine[] {
  return textOf(file)
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as LedgerLine);
}

/** How many lines there are; of a line that is being written, none. */
export function countLedger(file: string): number {
  return textOf(file).split('\n').length - 1;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
