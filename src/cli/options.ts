/** The options of `looprig run` and `looprig resume`: read once and checked. */
import type { ToolLimits } from '../index.ts';
import { parseLimits } from './limit-option.ts';
import { type Given, type OptionTable, readArgs } from './read-args.ts';
import { UsageError } from './usage-error.ts';

/** The ways in which the program's loop can work. */
export type ModeName = 'base' | 'read-only';

const MODES: readonly ModeName[] = ['base', 'read-only'];

/** How much the model is to think. */
export type ReasoningLevel = 'none' | 'minimal' | 'low' | 'medium' | 'high';

const REASONING_LEVELS: readonly ReasoningLevel[] = ['none', 'minimal', 'low', 'medium', 'high'];

/** What is done where a call wants what nothing allows. */
export type Approval = 'ask' | 'all' | 'none';

const APPROVALS: readonly Approval[] = ['ask', 'all', 'none'];

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
  readonly workspace: string | undefined;
  /** As it was given: `demo`, `provider/name`, `compatible:URL#model` or `replay:FILE`. */
  readonly model: string | undefined;
  readonly limits: ToolLimits;
  readonly mode: ModeName | undefined;
  /** `undefined`: ask where a person can answer, else deny. */
  readonly approve: Approval | undefined;
  readonly allowCommands: boolean;
  /** Servers of tools, as they were given: commands and addresses. */
  readonly mcp: readonly string[];
  readonly stream: boolean;
  readonly reasoning: ReasoningLevel | undefined;
  readonly help: boolean;
}

/** What `looprig run` was asked to do. */
export interface RunOptions extends TurnOptions {
  readonly prompt: string | undefined;
  /** The session whose next turn this is; `undefined` for a new one. */
  readonly session: string | undefined;
}

/** What `looprig resume` was asked to do. */
export interface ResumeOptions extends TurnOptions {
  readonly session: string | undefined;
}

const RESUME_TABLE = {
  workspace: { type: 'string' },
  model: { type: 'string' },
  approve: { type: 'string' },
  'allow-commands': { type: 'boolean' },
  mcp: { type: 'string', multiple: true },
  'no-stream': { type: 'boolean' },
  reasoning: { type: 'string' },
  'hide-reasoning': { type: 'boolean' },
  store: { type: 'string' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
  debug: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies OptionTable;

const RUN_TABLE = {
  ...RESUME_TABLE,
  limits: { type: 'string' },
  mode: { type: 'string' },
  session: { type: 'string' },
  'no-store': { type: 'boolean' },
} as const satisfies OptionTable;

/** Reads the arguments of `looprig run`. Throws `UsageError` for what it cannot take. */
export function parseRunOptions(args: readonly string[]): RunOptions {
  const given = readArgs('run', RUN_TABLE, args);
  const session = given.text('session');
  const options = readTurnOptions(given);
  if (options.noStore && options.store !== undefined) {
    throw new UsageError('--store and --no-store exclude each other: give one of them');
  }
  if (options.noStore && session !== undefined) {
    throw new UsageError('--session names a session of the store: leave out --no-store');
  }
  return Object.freeze({ ...options, prompt: onePrompt(given.positionals), session });
}

/** Reads the arguments of `looprig resume`. Throws `UsageError` for what it cannot take. */
export function parseResumeOptions(args: readonly string[]): ResumeOptions {
  const given = readArgs('resume', RESUME_TABLE, args);
  return Object.freeze({ ...readTurnOptions(given), session: atMostOne('resume', given.positionals) });
}

/** The one session that a command is about; `undefined` where none is named. Throws `UsageError` for more. */
export function atMostOne(command: string, positionals: readonly string[]): string | undefined {
  const [session, second] = positionals;
  if (second === undefined) return session;
  throw new UsageError(`looprig ${command} takes one session, and there are ${positionals.length} words: name one`);
}

function readTurnOptions(given: Given): TurnOptions {
  const limits = given.text('limits');
  return {
    workspace: given.text('workspace'),
    model: given.text('model'),
    limits: limits === undefined ? {} : parseLimits(limits),
    mode: oneOf(given.text('mode'), MODES, mode => `there is no mode "${mode}": give ${MODES.join(' or ')}`),
    approve: oneOf(
      given.text('approve'),
      APPROVALS,
      value => `--approve must be one of ${APPROVALS.join(', ')}, not "${value}"`,
    ),
    allowCommands: given.has('allow-commands'),
    mcp: given.texts('mcp'),
    stream: !given.has('no-stream'),
    reasoning: oneOf(
      given.text('reasoning'),
      REASONING_LEVELS,
      level => `--reasoning must be one of ${REASONING_LEVELS.join(', ')}, not "${level}"`,
    ),
    hideReasoning: given.has('hide-reasoning'),
    json: given.has('json'),
    quiet: given.has('quiet'),
    store: given.text('store'),
    noStore: given.has('no-store'),
    help: given.has('help'),
  };
}

function oneOf<Value extends string>(
  given: string | undefined,
  known: readonly Value[],
  sentence: (given: string) => string,
): Value | undefined {
  if (given === undefined) return undefined;
  const value = known.find(one => one === given);
  if (value === undefined) throw new UsageError(sentence(given));
  return value;
}

function onePrompt(positionals: readonly string[]): string | undefined {
  const [prompt, second] = positionals;
  if (second !== undefined) {
    throw new UsageError(`the prompt must be one argument, and there are ${positionals.length}: put it in quotes`);
  }
  if (prompt !== undefined && prompt.trim() === '') throw new UsageError('the prompt is empty: say what is to be done');
  return prompt;
}
