/** What the program stands on: its environment, its streams and its clock. */
import type { Clock } from '../index.ts';
import type { Opened } from './opened.ts';

/** Standard input, read a line at a time where a person is asked. */
export interface HostInput extends NodeJS.ReadableStream {
  readonly isTTY?: boolean | undefined;
  readonly readableEnded: boolean;
}

/** Standard output or standard error. */
export interface HostStream {
  readonly isTTY?: boolean | undefined;
  /** Size of the terminal; absent where there is none. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
  /** Tells when the terminal has another size. */
  readonly on?: (event: 'resize', listener: () => void) => unknown;
  readonly off?: (event: 'resize', listener: () => void) => unknown;
}

/** Why the program is to stop before its work is done. */
export type StopReason = 'SIGINT' | 'SIGTERM' | 'output closed';

/** The surroundings of one run of the program. */
export interface ProgramHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: HostInput;
  readonly stdout: HostStream;
  readonly stderr: HostStream;
  readonly clock: Clock;
  /** Aborted, with a `StopReason`, when the program is to stop. */
  readonly stop: AbortSignal;
  /** Aborted just before the program quits at once: the last chance to leave the terminal as it was. */
  readonly quit: AbortSignal;
  /** Gives each Ctrl-C to `taker` from now on, in the place of stopping the program; `undefined` gives it back. */
  takeInterrupts?(taker: (() => void) | undefined): void;
}

/** What a command stands on. */
export interface Host extends ProgramHost {
  /** What is closed when the command ends: whatever opens something adds it. */
  readonly opened: Opened;
}
