/** Runs one simulated session, from its first process to its last, and says what did not hold. */
import {
  isTerminal,
  JournalError,
  type Message,
  type Session,
  SessionError,
  type Turn,
  type TurnResult,
} from '../../src/index.ts';
import { assertPaired } from '../../src/testing/index.ts';
import { Disk } from './disk.ts';
import { drawPlan, isCalm, type Plan, type TurnPlan } from './plan.ts';
import { DRAIN_MS, markOf, Process } from './process.ts';
import { Violation, Watch } from './watch.ts';

/** What came of a simulated session. */
export interface Outcome {
  readonly history: readonly Message[];
  readonly results: readonly TurnResult[];
  /** Processes that it took, and how many of them ended in the middle. */
  readonly lives: number;
  readonly effects: number;
}

/** More processes than any plan has moments in which one ends. */
const MOST_LIVES = 10;

/** A person who waits for nothing any more interrupts. */
const PATIENCE_MS = 5_000;

/** Simulates a seed. Throws what did not hold. */
export async function simulateSeed(seed: number): Promise<Outcome> {
  const plan = drawPlan(seed);
  const outcome = await simulate(plan);
  if (isCalm(plan) && outcome.lives > 1) {
    const unbroken = await simulate({ ...plan, crashes: [] });
    const [one, other] = [comparable(outcome.history), comparable(unbroken.history)];
    if (one !== other) throw new Violation(5, `a run with crashes ends in another history:\n${one}\n${other}`);
  }
  return outcome;
}

async function simulate(plan: Plan): Promise<Outcome> {
  const watch = new Watch(plan);
  const disk = new Disk(watch);
  const frozen: Process[] = [];
  const results: TurnResult[] = [];
  let startAt = 1_000;
  for (let life = 0; life < MOST_LIVES; life++) {
    const process = new Process(plan, disk, life, startAt);
    const work = new Life(plan, disk, process, results).run();
    work.catch(() => {}); // looked at below, unless the process ends before
    const how = await process.clock.runUntil(Promise.race([work, process.ended.promise]));
    startAt = process.clock.now() + 1;
    if (watch.violation !== undefined) throw watch.violation;
    if (how === 'ended') frozen.push(process);
    for (const old of frozen.splice(0, how === 'ended' ? frozen.length - 1 : frozen.length)) {
      if (old.thaw()) await old.clock.advance(1_000);
    }
    if (watch.violation !== undefined) throw watch.violation;
    if (how === 'done') return await lastLook(plan, disk, life + 1, startAt, results);
  }
  throw new Violation(7, `the session was not done after ${MOST_LIVES} processes`);
}

/** One process's work: what is unfinished, then the turns that have not begun. */
class Life {
  readonly #plan: Plan;
  readonly #disk: Disk;
  readonly #process: Process;
  readonly #results: TurnResult[];

  constructor(plan: Plan, disk: Disk, process: Process, results: TurnResult[]) {
    this.#plan = plan;
    this.#disk = disk;
    this.#process = process;
    this.#results = results;
  }

  async run(): Promise<'done' | 'broken'> {
    try {
      const session = await this.#process.open();
      assertPaired(session.history);
      const next = this.#process.life === 0 ? undefined : this.#plan.crashes[this.#process.life - 1]?.next;
      if (session.unfinished !== undefined) await this.#rest();
      if (session.unfinished !== undefined && next !== 'input') await this.#take(session, session.resume());
      for (const [place, turn] of this.#plan.turns.entries()) {
        if (!this.#hasBegun(place)) await this.#play(session, place, turn);
      }
      await this.#idle(session);
      while (session.unfinished !== undefined) await this.#take(session, session.resume());
      await session.setMode(''); // a queued turn may have failed unseen, where the journal did: this says so
      await session.close();
      return 'done';
    } catch (error) {
      if (JournalError.is(error)) return 'broken'; // another process goes on
      if (this.#process.isLeaving && SessionError.is(error)) return this.#left();
      throw error;
    }
  }

  /** The session is being released: what is left to do is the next process's. */
  async #left(): Promise<'broken'> {
    await this.#process.ended.promise;
    return 'broken';
  }

  #rest(): Promise<void> | undefined {
    const { restMs } = this.#plan;
    if (restMs === 0) return undefined;
    return new Promise(resolve => this.#process.clock.setTimer(resolve, restMs));
  }

  #hasBegun(place: number): boolean {
    const mark = markOf(place);
    return this.#disk.records.some(record => {
      const message = record.type === 'turn.started' || record.type === 'input.received' ? record.message : undefined;
      const [part] = message?.content ?? [];
      return part?.type === 'text' && part.text.startsWith(mark);
    });
  }

  async #play(session: Session, place: number, plan: TurnPlan): Promise<void> {
    const { clock } = this.#process;
    const { turnTimeoutMs } = plan;
    const limits = turnTimeoutMs === undefined ? {} : { limits: { turnTimeoutMs } };
    const turn = session.submit(`${markOf(place)} go`, limits);
    let stoppedAt: number | undefined;
    const later = (ms: number | undefined, act: () => unknown): void => {
      if (ms === undefined) return;
      clock.setTimer(() => {
        if (this.#process.hasEnded) return;
        try {
          act();
        } catch (error) {
          // Too late: the session is closed, or its journal is gone.
          if (!SessionError.is(error) && !JournalError.is(error)) throw error;
        }
      }, ms);
    };
    later(plan.interruptMs, () => {
      stoppedAt ??= clock.now();
      turn.interrupt('enough');
    });
    later(plan.steerMs, () => session.steer('rather left').catch(() => {}));
    later(plan.queueMs, () => session.submit('turn:90 another thing'));
    let settledAt = 0;
    void turn.result.then(() => {
      settledAt = clock.now();
    });
    const result = await this.#take(session, turn);
    if (stoppedAt === undefined || result.status !== 'interrupted' || result.reason !== 'enough') return;
    const took = settledAt - stoppedAt;
    // The store may be slow with what is recorded on the way.
    if (took > DRAIN_MS + 10 * this.#plan.storeMs)
      throw new Violation(7, `an interrupted turn took ${took} ms to settle`);
  }

  /** Reads a turn to its end, and what was queued behind it. */
  async #take(session: Session, turn: Turn): Promise<TurnResult> {
    this.#process.clock.setTimer(() => turn.interrupt('tired'), PATIENCE_MS);
    const [ends, result] = await Promise.all([endsOf(turn), turn.result]);
    if (result.status === 'released') {
      if (ends.length > 0) throw new Violation(7, `a turn that was released told of these ends: ${ends.join(', ')}`);
      throw new SessionError('released', 'the turn was left to the next process');
    }
    this.#results.push(result);
    if (result.status === 'failed' && result.error.kind === 'internal') throw result.error;
    if (result.status === 'failed' && JournalError.is(result.error)) throw result.error;
    if (ends.length !== 1 || ends[0] !== `turn.${result.status}`) {
      throw new Violation(7, `a turn that was ${result.status} told of these ends: ${ends.join(', ')}`);
    }
    await this.#idle(session);
    return result;
  }

  /** Waits for what was queued. Throws where the journal failed: another process goes on. */
  async #idle(session: Session): Promise<void> {
    for (let turn = session.turn; turn !== undefined; turn = session.turn) {
      this.#process.clock.setTimer(() => turn?.interrupt('tired'), PATIENCE_MS);
      const result = await turn.result;
      if (result.status === 'failed' && JournalError.is(result.error)) throw result.error;
      if (result.status === 'released') return; // it is closed
    }
  }
}

async function endsOf(turn: Turn): Promise<string[]> {
  const ends: string[] = [];
  for await (const event of turn) if (isTerminal(event)) ends.push(event.type);
  return ends;
}

/** A process in which nothing breaks: the session opens, its history is sound, and one more turn works. */
async function lastLook(
  plan: Plan,
  disk: Disk,
  lives: number,
  startAt: number,
  results: TurnResult[],
): Promise<Outcome> {
  const watch = new Watch(plan);
  const process = new Process({ ...plan, crashes: [], faults: [] }, disk, lives, startAt);
  const { clock } = process;
  const session = await clock.runUntil(process.open());
  if (session.unfinished !== undefined) throw new Violation(7, 'a turn is unfinished after the last process');
  assertPaired(session.history);
  const { history } = session;
  const again = await clock.runUntil(
    new Process({ ...plan, crashes: [], faults: [] }, disk, lives + 1, startAt).open(),
  );
  if (JSON.stringify(again.history) !== JSON.stringify(history))
    throw new Violation(1, 'two openings give two histories');
  const last = await clock.runUntil(session.submit('turn:99 and now?').result);
  if (last.status !== 'done') throw new Violation(1, `the next turn was ${last.status}`);
  if (watch.violation !== undefined) throw watch.violation;
  return { history, results, lives, effects: disk.effects.length };
}

/** A history without what differs from run to run: ids that were made up. */
function comparable(history: readonly Message[]): string {
  const names = new Map<string, string>();
  return JSON.stringify(history, (key, value: unknown) => {
    if (key !== 'toolCallId' || typeof value !== 'string') return value;
    const name = names.get(value) ?? `#${names.size}`;
    names.set(value, name);
    return name;
  });
}
