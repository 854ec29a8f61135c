/** The options of the commands that look at sessions, or answer for one. */
import { atMostOne, type StoreOptions } from './options.ts';
import { type OptionTable, readArgs } from './read-args.ts';
import { UsageError } from './usage-error.ts';

/** Options that each of them has. */
interface LookOptions extends Pick<StoreOptions, 'store'> {
  readonly json: boolean;
  readonly help: boolean;
}

/** What `looprig sessions` was asked for. */
export interface SessionsOptions extends LookOptions {
  /** How many are shown at the most. */
  readonly limit: number;
}

/** What `looprig show` was asked for. */
export interface ShowOptions extends LookOptions {
  readonly session: string | undefined;
}

/** What `looprig answer` was asked to say. */
export interface AnswerOptions extends LookOptions {
  readonly session: string;
  /** `undefined` where the session has only one that is open. */
  readonly gate: string | undefined;
  readonly word: 'yes' | 'no' | 'always';
  readonly reason: string | undefined;
}

const LOOK_TABLE = {
  store: { type: 'string' },
  json: { type: 'boolean' },
  debug: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies OptionTable;

const SESSIONS_TABLE = { ...LOOK_TABLE, limit: { type: 'string' } } as const satisfies OptionTable;
const ANSWER_TABLE = { ...LOOK_TABLE, reason: { type: 'string' } } as const satisfies OptionTable;

/** How many sessions are listed where nobody says. */
const DEFAULT_LIMIT = 20;

/** Reads the arguments of `looprig sessions`. Throws `UsageError` for what it cannot take. */
export function parseSessionsOptions(args: readonly string[]): SessionsOptions {
  const given = readArgs('sessions', SESSIONS_TABLE, args);
  const [stranger] = given.positionals;
  if (stranger !== undefined) {
    throw new UsageError(`looprig sessions takes no "${stranger}": "looprig show ${stranger}" shows one session`);
  }
  return Object.freeze({ ...lookOptions(given), limit: readLimit(given.text('limit')) });
}

/** Reads the arguments of `looprig show`. Throws `UsageError` for what it cannot take. */
export function parseShowOptions(args: readonly string[]): ShowOptions {
  const given = readArgs('show', LOOK_TABLE, args);
  return Object.freeze({ ...lookOptions(given), session: atMostOne('show', given.positionals) });
}

/** Reads the arguments of `looprig answer`; `undefined` where its help is asked for. Throws `UsageError` for what it cannot take. */
export function parseAnswerOptions(args: readonly string[]): AnswerOptions | undefined {
  const given = readArgs('answer', ANSWER_TABLE, args);
  if (given.has('help')) return undefined;
  const [session, ...rest] = given.positionals;
  const said = rest.at(-1);
  const word = WORDS.find(known => known === said);
  if (session === undefined || word === undefined || rest.length > 2) {
    throw new UsageError('looprig answer takes a session, a gate where several are open, and yes, no or always');
  }
  const reason = given.text('reason');
  if (reason !== undefined && word !== 'no') {
    throw new UsageError('--reason says why a call may not do what it wants: give it with no');
  }
  const gate = rest.length === 2 ? rest[0] : undefined;
  return Object.freeze({ ...lookOptions(given), session, gate, word, reason });
}

const WORDS: readonly AnswerOptions['word'][] = ['yes', 'no', 'always'];

function lookOptions(given: ReturnType<typeof readArgs>): LookOptions {
  return { store: given.text('store'), json: given.has('json'), help: given.has('help') };
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit >= 1) return limit;
  throw new UsageError(`--limit must be a whole number from 1, not "${text}"`);
}
