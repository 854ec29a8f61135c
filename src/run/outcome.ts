/** How a turn ended, as a value: a turn's result never rejects. */
import type {
  JournalError,
  LimitReached,
  LooprigError,
  ModelError,
  OutputError,
  ToolLimitError,
  TurnTimeoutError,
} from '../errors.ts';
import type { LeftBehind } from '../journal/journal.ts';
import type { FinishReason, Usage } from '../model/model.ts';

/** Why a turn failed. */
export type TurnError =
  | ToolLimitError
  | TurnTimeoutError
  | ModelError
  | OutputError
  | JournalError<string>
  | LooprigError<'internal'>;

/** What every turn has used, however it ended. */
export interface TurnFigures {
  /** The text of the last response; of a response that broke off, what had come of it. */
  readonly text: string;
  /** Tokens of all its steps, and of its delegates. */
  readonly usage: Usage;
  /** Model responses. */
  readonly steps: number;
  /** Tool iterations: steps in which the model asked for tools. */
  readonly iterations: number;
  /** Calls the model asked for. */
  readonly calls: number;
}

/** The turn ended with an answer. */
export interface DoneResult<Output = unknown> extends TurnFigures {
  readonly status: 'done';
  /** The typed answer, where the loop has an output schema; absent where a tool ended the turn (`endTurn`). */
  readonly output?: Output;
  /** Why the model ended its answer: `length` or `content-filter` is no plain success. */
  readonly finishReason: FinishReason;
  /** The limit that stopped the turn, if its answer is a closing one. */
  readonly limited?: LimitReached;
}

/** The turn ended without an answer. */
export interface FailedResult extends TurnFigures {
  readonly status: 'failed';
  /** What went wrong: switch on its class (`ModelError.is(error)`) or its `kind`. */
  readonly error: TurnError;
  /** Calls that were left running when the turn's time was over. */
  readonly leftBehind: readonly LeftBehind[];
}

/** The turn was interrupted. */
export interface InterruptedResult extends TurnFigures {
  readonly status: 'interrupted';
  /** What was given to `turn.interrupt`. */
  readonly reason?: string;
  /** Calls whose tools did not heed their signal in time and were left running. */
  readonly leftBehind: readonly LeftBehind[];
}

/** The turn did not end: this process left it (`session.release`), as its journal has it, to whoever takes it up. */
export interface ReleasedResult extends TurnFigures {
  readonly status: 'released';
}

/** How a turn ended. */
export type TurnResult<Output = unknown> = DoneResult<Output> | FailedResult | InterruptedResult | ReleasedResult;
