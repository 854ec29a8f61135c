/** Runs turns in this process: opens their sessions, keeps those that may be needed again soon, and leaves all of them at its end. */
import type { TimerHandle } from '../clock.ts';
import { SessionBusyError, SessionError } from '../errors.ts';
import type { Rig } from '../session/rig.ts';
import type { Session } from '../session/session.ts';
import { removeMails } from './accept.ts';
import type { RunOutcome, RunSignals, TurnRef } from './engine.ts';
import type { Feeds, SessionFeed } from './feed.ts';
import { isRunElsewhere } from './knock.ts';
import { type LiveParts, LiveSession } from './live.ts';

/** What a worker is told of how it keeps sessions. */
export interface WorkerParts extends LiveParts {
  /** How many sessions without a turn stay in memory at most. */
  readonly keepSessions: number;
  /** Whether another process may run a turn that this one is told to run, since engines of theirs do not know of each other. */
  readonly isOneOfSeveral: boolean;
}

/** When a turn is looked at again that another process runs, in milliseconds: it may end in the middle. */
const LOOK_AGAIN_MS = 5_000;

/** A session that lives here, and what is to be ended with it. */
interface Lodger {
  readonly live: LiveSession;
  readonly feed: SessionFeed;
  /** Settles when the last of its events are told. */
  readonly told: Promise<void>;
  isRunning: boolean;
  timer: TimerHandle | undefined;
  /** Settles when it is gone, once it is to go. */
  leaving: Promise<void> | undefined;
}

export class Worker {
  readonly #rig: Pick<Rig, 'open' | 'store' | 'clock'>;
  readonly #parts: WorkerParts;
  readonly #feeds: Feeds;
  readonly #lodgers = new Map<string, Lodger>();
  /** What sends those away that have no turn: first the one whose turn ended longest ago. */
  readonly #idle = new Map<Lodger, () => void>();
  readonly #ending = new Set<Promise<void>>();
  /** The turns that were left here because they wait, by their sessions, and where the journals ended then. */
  readonly #left = new Map<string, { readonly turnId: string; readonly lastSeq: number }>();
  readonly #start: (ref: TurnRef) => Promise<void>;
  #isClosing = false;

  /** `start` has a turn started that may have been before. */
  constructor(
    rig: Pick<Rig, 'open' | 'store' | 'clock'>,
    parts: WorkerParts,
    feeds: Feeds,
    start: (ref: TurnRef) => Promise<void>,
  ) {
    this.#start = start;
    this.#rig = rig;
    this.#parts = parts;
    this.#feeds = feeds;
  }

  /** How many sessions live here. */
  get size(): number {
    return this.#lodgers.size;
  }

  /** Of how many sessions it knows that their turn was left here because it waits. */
  get left(): number {
    return this.#left.size;
  }

  /** The turn of a session that was left here because it waits. */
  leftTurn(sessionId: string): string | undefined {
    return this.#left.get(sessionId)?.turnId;
  }

  /** The session whose turn runs here, if one does. */
  find(sessionId: string): Session | undefined {
    const lodger = this.#lodgers.get(sessionId);
    return lodger?.isRunning === true ? lodger.live.session : undefined;
  }

  async run({ sessionId, turnId }: TurnRef, signals: RunSignals): Promise<RunOutcome> {
    if (this.#isClosing) return { status: 'released' };
    const lodger = await this.#take(sessionId);
    if (lodger === undefined) {
      this.#left.delete(sessionId);
      await removeMails(this.#parts.mailbox, sessionId); // what was posted as it was deleted
      return { status: 'done' };
    }
    let outcome: RunOutcome | undefined;
    try {
      if (this.#isClosing) return { status: 'released' };
      if (await this.#isElsewhere(lodger.live.session)) {
        return { status: 'waiting', gateIds: [], until: this.#rig.clock.now() + LOOK_AGAIN_MS };
      }
      this.#left.delete(sessionId);
      outcome = await lodger.live.run(turnId, signals);
      if (outcome.status === 'waiting') this.#noteLeft(lodger.live.session, turnId);
      if (outcome.status === 'done') await this.#startWaiting(lodger.live.session);
      return outcome;
    } finally {
      lodger.isRunning = false;
      if (outcome?.status === 'done' && !this.#isClosing) this.#keep(sessionId, lodger);
      else await this.#leave(sessionId, lodger, 0);
    }
  }

  /** Leaves a session of which no turn runs here. Throws `SessionError` `busy` where one does. */
  async dismiss(sessionId: string): Promise<void> {
    const lodger = this.#lodgers.get(sessionId);
    if (lodger === undefined) return;
    if (lodger.isRunning && lodger.leaving === undefined) throw new SessionBusyError('interrupt it first');
    await this.#leave(sessionId, lodger, 0);
  }

  /** Leaves all sessions: calls and responses that are under way may end within the time. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#lodgers].map(([sessionId, lodger]) => this.#leave(sessionId, lodger, graceMs)));
    await Promise.all(this.#ending);
  }

  /** Whether another process is in the middle of a turn of the session. What this one has left itself, and nobody touched since, is nobody's. */
  async #isElsewhere({ id, driver }: Session): Promise<boolean> {
    const hasTurn = driver.openTurnId !== undefined && this.#left.get(id)?.lastSeq !== driver.lastSeq;
    return hasTurn && this.#parts.isOneOfSeveral && isRunElsewhere(this.#parts, id);
  }

  /** An engine that is told of all processes may have the turn go on elsewhere, and this one would never forget it. */
  #noteLeft({ id, driver: { lastSeq } }: Session, turnId: string): void {
    if (this.#parts.isOneOfSeveral) this.#left.set(id, { turnId, lastSeq });
  }

  /** Whoever left an input here may have ended before it had its turn started. */
  async #startWaiting(session: Session): Promise<void> {
    for (const turnId of session.driver.waiting) await this.#start({ sessionId: session.id, turnId });
  }

  /** The session, alive; `undefined` where the store has none. One that another process has gone on with meanwhile is opened anew. */
  async #take(sessionId: string): Promise<Lodger | undefined> {
    const stored = await this.#rig.store.find(sessionId);
    if (stored === undefined) return undefined;
    const known = this.#lodgers.get(sessionId); // only now: while the store was asked, it may have begun to leave
    if (known !== undefined && known.leaving === undefined) {
      this.#stopTimer(known);
      known.isRunning = true;
      if (known.live.session.driver.lastSeq === stored.lastSeq) return known;
      void this.#leave(sessionId, known, 0);
    }
    await known?.leaving;
    return this.#open(sessionId);
  }

  async #open(sessionId: string): Promise<Lodger | undefined> {
    const session = await this.#rig.open({ sessionId }).catch(error => {
      if (SessionError.is(error) && error.kind === 'unknown_session') return undefined;
      throw error;
    });
    if (session === undefined) return undefined;
    const feed = await this.#feeds.open(sessionId, session.loopId);
    session.driver.onRecord = record => feed.hand(record);
    const live = new LiveSession(session, this.#parts);
    const lodger: Lodger = {
      live,
      feed,
      told: feed.follow(session.subscribe()),
      isRunning: true,
      timer: undefined,
      leaving: undefined,
    };
    this.#lodgers.set(sessionId, lodger);
    return lodger;
  }

  /** Keeps a session whose turn is done for the next one, for a while, where there is room: its tools are built. */
  #keep(sessionId: string, lodger: Lodger): void {
    const { clock } = this.#rig;
    const leave = (): void => {
      const ending = this.#leave(sessionId, lodger, 0).finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    };
    const { keepMs, keepSessions } = this.#parts;
    if (keepMs === 0) leave();
    else {
      lodger.timer = clock.setTimer(leave, keepMs);
      this.#idle.set(lodger, leave);
    }
    const [leaveOldest] = this.#idle.values();
    if (this.#idle.size > keepSessions) leaveOldest?.();
  }

  #leave(sessionId: string, lodger: Lodger, graceMs: number): Promise<void> {
    lodger.leaving ??= this.#end(sessionId, lodger, graceMs);
    return lodger.leaving;
  }

  async #end(sessionId: string, lodger: Lodger, graceMs: number): Promise<void> {
    this.#stopTimer(lodger);
    await lodger.live.session.release({ graceMs });
    await lodger.told;
    this.#lodgers.delete(sessionId);
    this.#feeds.close(sessionId, lodger.feed);
  }

  #stopTimer(lodger: Lodger): void {
    this.#idle.delete(lodger);
    if (lodger.timer !== undefined) this.#rig.clock.clearTimer(lodger.timer);
    lodger.timer = undefined;
  }
}
