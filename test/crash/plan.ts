/** What one process is told to do, and how it is to end: drawn from a seed. */
import { join } from 'node:path';
import type { ExactPlace } from './exact.ts';
import type { PlayName } from './plays.ts';

/** What a process is told. */
export interface LifePlan {
  readonly play: PlayName;
  /** Counts the processes of a session from 1. */
  readonly life: number;
  /**
   * Who answers gates: nobody, somebody before the turn is taken up, somebody while it runs; or the process only answers what waits, and
   * leaves the turn to another.
   */
  readonly person: 'absent' | 'early' | 'late' | 'answers';
  readonly exact?: ExactPlace;
  /** Says something else instead of taking up a turn that is unfinished. */
  readonly movesOn?: boolean;
  /** Another process may take the session from it: then it ends by itself, and that is no mistake. */
  readonly hasRival?: true;
}

/** How the parent kills a process. */
export type KillPlan =
  /** So many milliseconds after it was started, after it said that the session is open, or that all is done. */
  | { readonly by: 'time'; readonly from: 'start' | 'opened' | 'finished'; readonly ms: number }
  /** When its folder has changed so often: in a new one the store's file is being made. */
  | { readonly by: 'changes'; readonly count: number }
  /** When the ledger has so many more lines, or the store so many more bytes, than at its start. */
  | { readonly by: 'ledger'; readonly lines: number }
  | { readonly by: 'store'; readonly bytes: number };

/** With this a process ends that a rival took its session from. */
export const LOST = 5;

/** The files of one session. */
export const storeFile = (folder: string): string => join(folder, 'store.db');
export const ledgerFile = (folder: string): string => join(folder, 'ledger');

/** Numbers from 0 to 1 that a seed determines. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Where a process may kill itself; large results are kept in one play alone. */
const PLACES = ['asked', 'begin', 'end', 'before-append', 'in-append', 'after-append'] as const;

const PEOPLE = ['absent', 'absent', 'early', 'late', 'answers'] as const;
/** Who leaves a turn answers none of its gates. */
const MOVING_ON = ['absent', 'late'] as const;

/** How the next process of a session lives and ends. Early ends are drawn more often than late ones, so that a session is killed many times. */
export function drawLife(
  play: PlayName,
  life: number,
  mayMoveOn: boolean,
  random: () => number,
): { readonly plan: LifePlan; readonly kill: KillPlan | undefined } {
  const upTo = (most: number): number => Math.floor(random() * most);
  const early = (most: number): number => 1 + Math.floor(random() ** 2 * most);
  const movesOn = mayMoveOn && random() < 0.5;
  const people = movesOn ? MOVING_ON : PEOPLE;
  const plan: LifePlan = { play, life, person: people[upTo(people.length)]!, movesOn };
  const kind = random();
  if (kind < 0.14) return { plan, kill: { by: 'time', from: 'start', ms: upTo(250) } };
  if (kind < 0.28) return { plan, kill: { by: 'time', from: 'opened', ms: early(60) } };
  if (kind < 0.31) return { plan, kill: { by: 'time', from: 'finished', ms: upTo(5) } };
  if (kind < 0.45) return { plan, kill: { by: 'ledger', lines: early(14) } };
  if (kind < 0.53) return { plan, kill: { by: 'changes', count: 1 + upTo(25) } };
  if (kind < 0.65) return { plan, kill: { by: 'store', bytes: early(120_000) } };
  const at = play === 'all that may run again' && kind > 0.92 ? 'in-capture' : PLACES[upTo(PLACES.length)]!;
  return { plan: { ...plan, exact: { at, count: at === 'in-capture' ? 1 : early(8) } }, kill: undefined };
}
