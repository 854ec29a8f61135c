/** What can be expected of a recording, by generation of the packages. `table.ts` has what is. */
import type { Generation } from './packages.ts';
import type { PlayOptions } from './play.ts';

/** How a turn ends: with an answer (and the finish reason, where it is no plain stop), or with an error of that kind. */
export type Ending =
  | 'answer'
  | 'answer, content-filter'
  | 'answer, tool-calls'
  /** A closing answer: the limit is on the result. */
  | 'answer at a limit'
  | 'no text'
  | 'ended by its tool'
  | 'empty_response'
  | 'request_failed'
  | 'stream_broken'
  | 'tool_limit'
  /** The recording ends on calls: their results went out, and there is no response to that request. */
  | 'asks on';

/** One turn: how it ends, the recorded responses that it takes, and how often it asks again after a failure. */
export interface ExpectedTurn {
  readonly ends: Ending;
  readonly responses: number;
  readonly retries?: number;
  /** Taken up by `continue` rather than begun by a new input. Default false. */
  readonly continues?: boolean;
}

/** What one playing of a recording comes to. */
export interface Expected {
  readonly turns: readonly ExpectedTurn[];
  /** Places of the responses that enter the history, with their calls. Default: all. */
  readonly kept?: readonly number[];
  /** Places of the responses whose usage is counted. Default: those that are kept. */
  readonly counted?: readonly number[];
  /** What calls are answered with that may not run. Default: all run. */
  readonly refused?: RegExp;
  /** The place of the first call that may not run, among all calls. Default 0. */
  readonly refusedFrom?: number;
  /** What the last request says of the tools, where it asks for a closing answer. */
  readonly closing?: 'tools off' | 'no tools';
  /** From which call on the model is told that it repeats itself, counted from 1. Default: never. */
  readonly warnsFrom?: number;
  /** How many calls that the provider runs itself are seen. Default: as many as the bodies have. */
  readonly serverCalls?: number;
  /** How many of the seals that are due do not come back in the next request. Default 0. */
  readonly sealsLost?: number;
  /** Input tokens that the bodies count and the package does not. Default 0. */
  readonly inputTokensLost?: number;
}

/** Where a generation differs from the others, and why. */
export interface Difference extends Partial<Expected> {
  readonly why: string;
  /** The name of the package's own error, where it cannot read the response at all. */
  readonly unreadable?: string;
}

/** One playing of a recording. */
export interface Playing extends Expected {
  /** What is set differently from the loop's defaults, in the title of the test. */
  readonly title?: string;
  readonly options?: Pick<PlayOptions, 'repeat' | 'limits' | 'atLimit'>;
  /** What the user says, a turn each. Default: what the recorded requests say, else one `Go.` */
  readonly inputs?: readonly string[];
  readonly differences?: { readonly [G in Generation]?: Difference };
}

/** One recording. */
export interface Entry {
  /** What of it is hard for a loop of tools. */
  readonly shows: string;
  /** The names of the calls that each response asks the client for. */
  readonly calls: readonly (readonly string[])[];
  /** The tool whose call is the recorded agent's answer: its stand-in ends the turn. */
  readonly outputTool?: string;
  /** The first is the one that documents tell of. */
  readonly plays: readonly [Playing, ...Playing[]];
}
