/** What the commands are asked to do, once the command line is read: `commands/` says how each option is given. */
import type { ToolLimits } from '../index.ts';

/** How much the model is to think. */
export type ReasoningLevel = 'none' | 'minimal' | 'low' | 'medium' | 'high';

export const REASONING_LEVELS: readonly ReasoningLevel[] = ['none', 'minimal', 'low', 'medium', 'high'];

/** What is done where a call wants what nothing allows. */
export type Approval = 'ask' | 'all' | 'none';

export const APPROVALS: readonly Approval[] = ['ask', 'all', 'none'];

/** Where sessions are kept, as far as the arguments say. */
export interface StoreOptions {
  /** `undefined`: where the environment or the platform says. */
  readonly store: string | undefined;
  readonly noStore: boolean;
}

/** How a run is shown. */
export interface ShownOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly hideReasoning: boolean;
}

/** What a turn runs with. Where something was not given, what the session had before holds, or the default. */
export interface TurnOptions extends StoreOptions, ShownOptions {
  /** A configuration of the user's own: a file or a folder, and the name of a loop in it after a `#`. */
  readonly loop: string | undefined;
  readonly workspace: string | undefined;
  /** As it was given: `demo`, `provider/name`, `compatible:URL#model` or `replay:FILE`. */
  readonly model: string | undefined;
  readonly limits: ToolLimits;
  /** As it was given; which there are is the loop's matter. */
  readonly mode: string | undefined;
  /** `undefined`: ask where a person can answer, else deny. */
  readonly approve: Approval | undefined;
  readonly allowCommands: boolean;
  /** Servers of tools, as they were given: commands and addresses. */
  readonly mcp: readonly string[];
  readonly stream: boolean;
  readonly reasoning: ReasoningLevel | undefined;
}

/** A turn of which nothing was said. */
export const NO_TURN_OPTIONS: TurnOptions = Object.freeze({
  loop: undefined,
  workspace: undefined,
  model: undefined,
  limits: Object.freeze({}),
  mode: undefined,
  approve: undefined,
  allowCommands: false,
  mcp: Object.freeze([]),
  stream: true,
  reasoning: undefined,
  hideReasoning: false,
  json: false,
  quiet: false,
  store: undefined,
  noStore: false,
});

/** What `looprig run` was asked to do. */
export interface RunOptions extends TurnOptions {
  readonly prompt: string | undefined;
  /** The session whose next turn this is; `undefined` for a new one. */
  readonly session: string | undefined;
}

/** What `looprig chat` was asked to do: each of its turns runs with it. */
export interface ChatOptions extends TurnOptions {
  /** The session that goes on; `undefined` for a new one. */
  readonly session: string | undefined;
}

/** What `looprig resume` was asked to do. */
export interface ResumeOptions extends TurnOptions {
  readonly session: string;
}

/** Options of each command that looks at sessions, or answers for one. */
export interface LookOptions extends Pick<StoreOptions, 'store'> {
  readonly json: boolean;
}

/** A look of which nothing was said. */
export const NO_LOOK_OPTIONS: LookOptions = Object.freeze({ store: undefined, json: false });

/** What `looprig sessions` was asked for. */
export interface SessionsOptions extends LookOptions {
  /** How many are shown at the most. */
  readonly limit: number;
}

/** What `looprig show` was asked for. */
export interface ShowOptions extends LookOptions {
  readonly session: string;
}

/** What `looprig delete` was asked for. */
export interface DeleteOptions extends LookOptions {
  readonly session: string;
  /** Whether nobody is asked before. */
  readonly yes: boolean;
}

/** What `looprig answer` was asked to say. */
export interface AnswerOptions extends LookOptions, Pick<TurnOptions, 'loop'> {
  readonly session: string;
  /** `undefined` where the session has only one that is open. */
  readonly gate: string | undefined;
  readonly word: AnswerWord;
  readonly reason: string | undefined;
}

/** What may be answered. */
export type AnswerWord = 'yes' | 'no' | 'always';

export const ANSWER_WORDS: readonly AnswerWord[] = ['yes', 'no', 'always'];

/** What `looprig worker` was asked to do. */
export interface WorkerOptions extends TurnOptions {
  /** The URL of an engine. */
  readonly engine: string;
}

/** What `looprig serve` was asked to do. */
export interface ServeOptions extends TurnOptions {
  readonly host: string;
  readonly port: number;
  /** `undefined`: that of the environment, or none. */
  readonly token: string | undefined;
  /** `undefined`: turns run in this process. */
  readonly engine: string | undefined;
  /** Lists sessions of other projects too. */
  readonly all: boolean;
  /** This process runs no turns: workers of the engine do. */
  readonly noTurns: boolean;
}

/** What `looprig report` was asked to write. */
export interface ReportOptions extends LookOptions {
  readonly session: string;
  /** A file, or `-`. */
  readonly out: string | undefined;
  /** A file that is there may be written over. */
  readonly force: boolean;
  readonly title: string | undefined;
}

/** What `looprig check` was asked to look at. */
export interface CheckOptions {
  /** `undefined`: the configuration of the current folder. */
  readonly file: string | undefined;
  readonly json: boolean;
}

/** What `looprig init` was asked for. */
export interface InitOptions {
  /** `undefined`: the current folder. */
  readonly folder: string | undefined;
}

/** The shells that can be told to complete. */
export type Shell = 'bash' | 'zsh' | 'fish';

export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];
