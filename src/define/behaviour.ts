/** How a loop's turns behave, beyond what they may do and how much of it. */

/** The options of a loop that say how its turns behave. */
export interface BehaviourOptions {
  /** Ask the model with `doStream` (deltas while it answers) or with `doGenerate`. Default true: stream. */
  readonly stream?: boolean;
  /**
   * At a limit: `fail` ends the turn failed, with `ToolLimitError`, and leaves the step out of the history; `answer` tells the
   * model which limit was reached and asks it once more, with tools off, for a closing answer. Default `fail`.
   */
  readonly atLimit?: 'fail' | 'answer';
  /** Tell the model, in one line that is not kept, when a limit is near. Default false. */
  readonly announceLimits?: boolean;
  /**
   * The same call with the same result, step after step: from the `warn`th in a row its result carries a line that says so, at
   * the `stop`th the turn ends as at a limit. Default `{ warn: 3, stop: 6 }`; `false` for never.
   */
  readonly repeat?: false | { readonly warn?: number; readonly stop?: number };
  /** How often a failed model request is tried again. Default 2. */
  readonly modelRetries?: number;
  /** The longest an interrupted turn waits for its tools, in milliseconds. Default 2,000. */
  readonly drainTimeoutMs?: number;
  /** How often an answer that does not fit the output schema is sent back. Default 2. */
  readonly outputRetries?: number;
}

/** Behaviour in force. */
export interface LoopBehaviour {
  readonly stream: boolean;
  readonly atLimit: 'fail' | 'answer';
  readonly announceLimits: boolean;
  readonly repeat: false | { readonly warn: number; readonly stop: number };
  readonly modelRetries: number;
  readonly drainTimeoutMs: number;
  readonly outputRetries: number;
}

/** How turns behave where nothing is said. */
export const DEFAULT_BEHAVIOUR: LoopBehaviour = Object.freeze({
  stream: true,
  atLimit: 'fail',
  announceLimits: false,
  repeat: Object.freeze({ warn: 3, stop: 6 }),
  modelRetries: 2,
  drainTimeoutMs: 2_000,
  outputRetries: 2,
});
