/** Plays sessions whose processes are killed, one after another, until enough were. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { interruptedCalls, problemsWhereMovedOn, problemsWith } from './checks.ts';
import type { LifeEnd, Lives } from './lives.ts';
import { drawLife, type LifePlan, seeded } from './plan.ts';
import { PLAYS, type PlayName, playOf } from './plays.ts';
import { type Remains, readRemains } from './remains.ts';
import { deathsOf, type Stage, stagesOf } from './stages.ts';

/** After so many kills a session may come to its end. */
const MOST_KILLS = 14;

/** What a session whose processes were killed came to. */
export interface Played {
  readonly seed: number;
  readonly play: PlayName;
  readonly kills: number;
  /** The stages that its kills hit. */
  readonly stages: readonly Stage[];
  /** Of turns that nobody took up: why they ended. */
  readonly left: readonly string[];
  readonly problems: readonly string[];
}

/** Processes that work in folders of their own below `root`. */
export class Campaign {
  readonly #root: string;
  readonly #lives: Lives;
  readonly #references = new Map<PlayName, Promise<Remains>>();

  constructor(root: string, lives: Lives) {
    this.#root = root;
    this.#lives = lives;
  }

  /** One session: its play, its kills and its people are drawn from the seed. */
  async play(seed: number): Promise<Played> {
    const random = seeded(seed);
    const play = drawPlay(seed);
    const folder = this.#folder(`seed-${seed}`);
    try {
      const reference = await this.reference(play);
      const mayMoveOn = seed % 3 === 0; // a third of each play's sessions
      const kills = await this.#live(folder, play, mayMoveOn, random);
      const remains = await readRemains(folder);
      const problems = mayMoveOn
        ? problemsWhereMovedOn(playOf(play), remains, folder)
        : problemsWith(playOf(play), remains, reference, folder);
      return { seed, play, kills, stages: stagesIn(remains), left: leftIn(remains), problems };
    } catch (error) {
      return {
        seed,
        play,
        kills: 0,
        stages: [],
        left: [],
        problems: [error instanceof Error ? error.message : String(error)],
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * One session that two processes take up at about the same time, after a first one was killed in the middle of a batch. Gives how the
   * two ended.
   */
  async rivals(seed: number): Promise<{ readonly ends: readonly string[]; readonly problems: readonly string[] }> {
    const random = seeded(seed);
    const play = drawPlay(seed);
    const reference = await this.reference(play);
    const folder = this.#folder(`rivals-${seed}`);
    try {
      const exact = { at: 'begin', count: 2 } as const;
      await this.#lives.run(folder, { ...lastLife(play, 1), exact }, undefined);
      const rival = async (life: number, delayMs: number): Promise<LifeEnd> => {
        await sleep(delayMs);
        return this.#lives.run(folder, { ...lastLife(play, life), hasRival: true }, undefined);
      };
      const ends = await Promise.all([rival(2, 0), rival(3, Math.floor(random() * 120))]);
      const broken = ends.flatMap(end => (end.kind === 'broken' ? [end.problem] : []));
      if (broken.length > 0) return { ends: ends.map(({ kind }) => kind), problems: broken };
      const remains = await readRemains(folder);
      const problems = problemsWith(playOf(play), remains, reference, folder, interruptedCalls(remains));
      return { ends: ends.map(({ kind }) => kind), problems };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** What a play leaves where nobody is killed. */
  reference(play: PlayName): Promise<Remains> {
    const known = this.#references.get(play) ?? this.#makeReference(play);
    this.#references.set(play, known);
    return known;
  }

  async #makeReference(play: PlayName): Promise<Remains> {
    const folder = this.#folder(`reference-${Object.keys(PLAYS).indexOf(play)}`);
    const end = await this.#lives.run(folder, lastLife(play, 1), undefined);
    if (end.kind !== 'finished') throw new Error(`"${play}" does not end without kills: ${JSON.stringify(end)}`);
    const remains = await readRemains(folder);
    const problems = problemsWith(playOf(play), remains, remains, folder);
    if (problems.length > 0) throw new Error(`"${play}" without kills: ${problems.join('; ')}`);
    return remains;
  }

  /** Gives how often a process was killed. */
  async #live(folder: string, play: PlayName, mayMoveOn: boolean, random: () => number): Promise<number> {
    let kills = 0;
    for (let life = 1; ; life += 1) {
      const isLast = kills >= MOST_KILLS || life > 4 * MOST_KILLS;
      const { plan, kill } = isLast
        ? { plan: lastLife(play, life), kill: undefined }
        : drawLife(play, life, mayMoveOn, random);
      const end = await this.#lives.run(folder, plan, kill);
      if (end.kind === 'broken') throw new Error(`life ${life} (${JSON.stringify({ ...plan, kill })}): ${end.problem}`);
      if (end.kind === 'killed') kills += 1;
      if (end.kind === 'finished') return kills;
    }
  }

  #folder(name: string): string {
    const folder = join(this.#root, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

function drawPlay(seed: number): PlayName {
  const names = Object.keys(PLAYS) as PlayName[];
  return names[seed % names.length]!;
}

/** A life that nobody ends, and in which people answer. */
function lastLife(play: PlayName, life: number): LifePlan {
  return { play, life, person: 'late' };
}

function leftIn({ records }: Remains): readonly string[] {
  return records.flatMap(record => (record.type === 'turn.interrupted' ? [record.reason ?? 'for no reason'] : []));
}

/** The play is over once all that it gives is done; what the journal holds from then on does not grow. */
function stagesIn({ records, ledger }: Remains): readonly Stage[] {
  const end = records.findLastIndex(({ type }) => type === 'turn.done') + 1;
  return deathsOf(ledger, records).flatMap(death => stagesOf(death, death.records.length >= end));
}
