/** What the commands have in common. */
import { EXIT } from './conclude.ts';

/** How a command ended. */
export interface CommandEnd {
  readonly exitStatus: number;
  /** Something was left running that may keep the process alive. */
  readonly isLeftRunning: boolean;
  /** What a failed turn threw inside, for `--debug`. */
  readonly error?: unknown;
}

/** The end of a command that did what it was asked to. */
export const DONE: CommandEnd = Object.freeze({ exitStatus: EXIT.done, isLeftRunning: false });

/** The end of a command that was stopped before its work was done. */
export const STOPPED: CommandEnd = Object.freeze({ exitStatus: EXIT.interrupted, isLeftRunning: false });
