/**
 * A session that lives in this process, on the part of an engine: it runs the turns that it is told to, takes up its mails while one runs, and leaves a
 * turn that only waits.
 */
import type { Clock, TimerHandle } from '../clock.ts';
import { type GateError, JournalError } from '../errors.ts';
import type { Mailbox, WatchStore } from '../journal/mailbox.ts';
import type { TurnResult } from '../run/outcome.ts';
import type { Session } from '../session/session.ts';
import type { RunOutcome, RunSignals, TurnRef } from './engine.ts';
import { takeMails } from './mail-round.ts';

/** What live sessions have in common. */
export interface LiveParts {
  readonly mailbox: Mailbox;
  readonly watch: WatchStore;
  readonly clock: Clock;
  readonly gateTimeoutMs: number;
  /** How long a turn that waits stays in memory, in milliseconds. */
  readonly keepMs: number;
  /** Told of an answer that its host took and the session cannot take. */
  readonly onRefusal: (error: GateError, ref: TurnRef) => void;
}

/** How often a running turn is looked at for what it does not tell: that its delegates wait, or that their gates are there. */
const LOOK_MS = 200;

export class LiveSession {
  readonly session: Session;
  readonly #parts: LiveParts;
  /** Rounds through the mails, one after the other. */
  #rounds: Promise<unknown> = Promise.resolve();
  #hasNews = false;
  /** What the turn is to its engine that this process has left because it only waits. */
  #waiting: RunOutcome | undefined;

  constructor(session: Session, parts: LiveParts) {
    this.session = session;
    this.#parts = parts;
    session.driver.isDriven = true;
  }

  /** Runs a turn as far as it goes here. Rejects where it could not be recorded. */
  async run(turnId: string, signals: RunSignals): Promise<RunOutcome> {
    const { session } = this;
    await this.#takeMails(turnId);
    const turn = session.driver.begin(turnId);
    if (turn === undefined) {
      await this.#takeMails(turnId);
      return { status: 'done' };
    }
    const stop = this.#attend(turnId, signals);
    try {
      return await this.#conclude(turnId, await turn.result);
    } finally {
      stop();
    }
  }

  /** Sees to the mails, the signals and the waiting of a turn that runs. Gives what ends that. */
  #attend(turnId: string, signals: RunSignals): () => void {
    const { session } = this;
    const { watch, clock, keepMs } = this.#parts;
    let [isOver, isAwaited] = [false, false];
    let waitingSince: number | undefined;
    let timer: TimerHandle | undefined;
    const round = (): void => {
      if (isOver) return;
      this.#takeMails(turnId).then(
        ({ isWaiting }) => {
          isAwaited = isWaiting;
        },
        () => {
          isAwaited = true; // tried again at the next look
        },
      );
    };
    const look = (): void => {
      if (isOver) return;
      if (timer !== undefined) clock.clearTimer(timer);
      if (isAwaited) round();
      if (!session.driver.isWaiting || session.driver.moveOn()) waitingSince = undefined;
      else {
        waitingSince ??= clock.now();
        if (clock.now() - waitingSince >= keepMs) void this.#leaveWaiting(turnId);
      }
      timer = clock.setTimer(look, waitingSince === undefined ? LOOK_MS : Math.min(LOOK_MS, Math.max(1, keepMs)));
    };
    const cancel = (): void => {
      void this.#takeMails(turnId).then(
        () => session.driver.interrupt(turnId, undefined),
        () => {},
      );
    };
    const lose = (): void => void session.release();
    const unwatch = watch(session.id, news => {
      if (news === 'mails') round();
    });
    session.whenWaiting(look);
    round(); // what was said to the turn before it began, and came before the watch
    look();
    listen(signals.cancelled, cancel);
    if (signals.lost !== undefined) listen(signals.lost, lose);
    return () => {
      isOver = true;
      if (timer !== undefined) clock.clearTimer(timer);
      unwatch();
      session.whenWaiting(() => {});
      signals.cancelled.removeEventListener('abort', cancel);
      signals.lost?.removeEventListener('abort', lose);
    };
  }

  /** Leaves the turn if it still only waits when all that was posted is taken up. */
  async #leaveWaiting(turnId: string): Promise<void> {
    const { session } = this;
    const { isWaiting: isAwaited } = await this.#takeMails(turnId).catch(() => ({ isWaiting: true }));
    if (isAwaited || !session.driver.isWaiting || this.#waiting !== undefined) return;
    const { gates } = session;
    const { clock, gateTimeoutMs } = this.#parts;
    const gateIds = gates.map(({ gateId }) => gateId);
    const until = Math.min(...gates.map(({ openedAt }) => openedAt)) + gateTimeoutMs;
    if (until <= clock.now()) return; // its time is over: it goes on here
    this.#waiting = { status: 'waiting', gateIds, ...(Number.isFinite(until) ? { until } : {}) };
    await session.release();
  }

  /** What the end of a turn here is to its engine. */
  async #conclude(turnId: string, result: TurnResult): Promise<RunOutcome> {
    if (result.status === 'released') return this.#waiting ?? { status: 'released' };
    if (this.session.driver.failure !== undefined) throw this.session.driver.failure;
    if (result.status === 'failed' && JournalError.is(result.error)) throw result.error;
    await this.#takeMails(turnId).catch(() => {}); // what stays is removed by a later round
    return { status: 'done' };
  }

  /** A round after those under way; what comes while one waits for its turn needs no other. */
  #takeMails(turnId: string): Promise<{ readonly isWaiting: boolean }> {
    if (this.#hasNews) return this.#rounds as Promise<{ readonly isWaiting: boolean }>;
    this.#hasNews = true;
    const next = this.#rounds
      .catch(() => {})
      .then(() => {
        this.#hasNews = false;
        const { mailbox, onRefusal } = this.#parts;
        return takeMails(this.session, mailbox, turnId, error =>
          onRefusal(error, { sessionId: this.session.id, turnId }),
        );
      });
    this.#rounds = next;
    next.catch(() => {}); // whoever waits for it is told
    return next;
  }
}

function listen(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
}
