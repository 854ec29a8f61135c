/** What a test of an engine is, and what it says about sessions. */
import type { JournalRecord } from '../journal/journal.ts';
import { type KitBench, type KitTurn, problemsOf, type RecordOf, recordsOf } from './engine-kit-lab.ts';

/** Something that a test measured. */
export interface EngineKitFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

/** What a test is given beside the bench. */
export interface KitSetting {
  /** How many workers run at a time: one, where an engine runs turns in the process that they come to. */
  readonly workers: number;
  /** The longest that another worker may take to go on after one is lost, in milliseconds. */
  readonly failOverMs: number;
  readonly tell: (figure: EngineKitFigure) => void;
}

/** A test of an engine: a fact about every engine, and what rejects if it does not hold. */
export type EngineCheck = readonly [name: string, check: (bench: KitBench, setting: KitSetting) => Promise<void>];

/** Throws unless `isTrue`. */
export function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Error(message);
}

export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`${what} must be ${wanted}, not ${found}`);
}

/** Waits until the turns are done, and looks that nothing ran twice and nothing is missing. */
export async function allRight(bench: KitBench, turns: readonly KitTurn[]): Promise<void> {
  for (const turn of turns) await bench.done(turn);
  const sessions = [...new Set(turns.map(({ sessionId }) => sessionId))];
  const journals = await forEach(sessions, 10, async id => [id, await bench.records(id)] as const);
  const ledger = Map.groupBy(bench.ledger(), ({ sessionId }) => sessionId);
  const wrong = journals.flatMap(([sessionId, records]) =>
    problemsOf(records, ledger.get(sessionId) ?? []).map(problem => `session ${sessionId}: ${problem}`),
  );
  require(wrong.length === 0, wrong.slice(0, 5).join('\n'));
}

/** The result of the call that the ledger knows by this key. */
export function resultOf(bench: KitBench, records: readonly JournalRecord[], key: string): RecordOf<'tool.completed'> {
  const callId = bench.ledger().find(line => line.key === key)?.callId;
  const results = recordsOf(records, 'tool.completed').filter(result => result.callId === callId);
  const [result] = results;
  if (result === undefined || results.length > 1) throw new Error(`call "${key}" has ${results.length} results`);
  return result;
}

/** How often the call of this key began. */
export function runsOf(bench: KitBench, key: string): number {
  return bench.ledger().filter(line => line.what === 'begin' && line.key === key).length;
}

let made = 0;
/** A word that no other call has. */
export function freshKey(name: string): string {
  made += 1;
  return `${name}-${made}-${process.pid}`;
}

/** Does `act` for each, so many at a time. */
export async function forEach<One, Result>(
  all: readonly One[],
  atOnce: number,
  act: (one: One) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < all.length) {
      const index = next++;
      results[index] = await act(all[index] as One);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, work));
  return results;
}
