/** The command line as options: read once, checked, with every default filled in. */
import { parseArgs } from 'node:util';
import type { ToolLimits } from '../index.ts';
import { parseLimits } from './limit-option.ts';
import { UsageError } from './usage-error.ts';

/** The ways in which the program's loop can work. */
export type ModeName = 'base' | 'read-only';

const MODES: readonly ModeName[] = ['base', 'read-only'];

/** How much the model is to think. */
type ReasoningLevel = 'none' | 'minimal' | 'low' | 'medium' | 'high';

const REASONING_LEVELS: readonly ReasoningLevel[] = ['none', 'minimal', 'low', 'medium', 'high'];

/** What `looprig run` was asked to do. */
export interface RunOptions {
  readonly prompt: string | undefined;
  readonly workspace: string;
  /** As it was given: `demo`, `provider/name`, `compatible:URL#model` or `replay:FILE`. */
  readonly model: string;
  readonly limits: ToolLimits;
  readonly mode: ModeName;
  readonly approve: 'all' | 'none';
  readonly allowCommands: boolean;
  readonly stream: boolean;
  /** Where it is `undefined` the provider's own default holds. */
  readonly reasoning: ReasoningLevel | undefined;
  readonly hideReasoning: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly help: boolean;
}

const OPTIONS = {
  workspace: { type: 'string' },
  model: { type: 'string' },
  limits: { type: 'string' },
  mode: { type: 'string' },
  approve: { type: 'string' },
  'allow-commands': { type: 'boolean' },
  'no-stream': { type: 'boolean' },
  reasoning: { type: 'string' },
  'hide-reasoning': { type: 'boolean' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
  debug: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type OptionName = keyof typeof OPTIONS;

/** Reads the arguments of `looprig run`. Throws `UsageError` for what it cannot take. */
export function parseRunOptions(args: readonly string[]): RunOptions {
  const { given, positionals } = readTokens(args);
  const text = (name: OptionName): string | undefined => {
    const value = given.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const limits = text('limits');
  return Object.freeze({
    prompt: onePrompt(positionals),
    workspace: text('workspace') ?? '.',
    model: text('model') ?? 'demo',
    limits: limits === undefined ? {} : parseLimits(limits),
    mode: parseMode(text('mode')),
    approve: parseApprove(text('approve')),
    allowCommands: given.has('allow-commands'),
    stream: !given.has('no-stream'),
    reasoning: parseReasoning(text('reasoning')),
    hideReasoning: given.has('hide-reasoning'),
    json: given.has('json'),
    quiet: given.has('quiet'),
    help: given.has('help'),
  });
}

interface Given {
  readonly given: ReadonlyMap<OptionName, string | true>;
  readonly positionals: readonly string[];
}

/** The parser is asked for tokens alone, so that each mistake gets a sentence of our own. */
function readTokens(args: readonly string[]): Given {
  const { tokens } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<OptionName, string | true>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const name = requireOption(token.name, token.rawName);
    if (given.has(name)) throw new UsageError(`${token.rawName} is given twice: give it once`);
    given.set(name, OPTIONS[name].type === 'boolean' ? requireNoValue(token) : requireValue(token));
  }
  return { given, positionals };
}

interface OptionToken {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function requireOption(name: string, rawName: string): OptionName {
  if (Object.hasOwn(OPTIONS, name)) return name as OptionName;
  throw new UsageError(`there is no option ${rawName}: "looprig run --help" lists them`);
}

function requireNoValue({ rawName, value }: OptionToken): true {
  if (value === undefined) return true;
  throw new UsageError(`${rawName} takes no value: leave out "=${value}"`);
}

function requireValue({ rawName, value, inlineValue }: OptionToken): string {
  const isOption = inlineValue !== true && value?.startsWith('-') === true;
  if (value !== undefined && value.trim() !== '' && !isOption) return value;
  throw new UsageError(`${rawName} needs a value: "looprig run --help" shows which`);
}

function onePrompt(positionals: readonly string[]): string | undefined {
  const [prompt, second] = positionals;
  if (second !== undefined) {
    throw new UsageError(`the prompt must be one argument, and there are ${positionals.length}: put it in quotes`);
  }
  if (prompt !== undefined && prompt.trim() === '') throw new UsageError('the prompt is empty: say what is to be done');
  return prompt;
}

function parseMode(name: string | undefined): ModeName {
  const mode = name === undefined ? 'base' : MODES.find(known => known === name);
  if (mode !== undefined) return mode;
  throw new UsageError(`there is no mode "${name}": give ${MODES.join(' or ')}`);
}

function parseReasoning(level: string | undefined): ReasoningLevel | undefined {
  if (level === undefined) return undefined;
  const known = REASONING_LEVELS.find(name => name === level);
  if (known !== undefined) return known;
  throw new UsageError(`--reasoning must be one of ${REASONING_LEVELS.join(', ')}, not "${level}"`);
}

function parseApprove(value: string | undefined): 'all' | 'none' {
  if (value === undefined || value === 'none') return 'none';
  if (value === 'all') return 'all';
  if (value === 'ask') throw new UsageError('--approve ask comes with a later version: give all or none');
  throw new UsageError(`--approve must be all or none, not "${value}"`);
}
