/** Follows one turn of a conversation: shows it, asks at its gates, and judges how it ended. */
import type { Turn, TurnEvent, TurnResult } from '../../index.ts';
import { mostTries } from '../agent.ts';
import { conclude } from '../conclude.ts';
import { gatesAt, inputOf, isUnasked } from '../follow-turn.ts';
import type { Host } from '../host.ts';
import type { OpenSession } from '../open-session.ts';
import type { ChatOptions } from '../options.ts';
import type { SecretFilter } from '../secrets.ts';
import { textOf } from '../trail.ts';
import type { RunEnd, View } from '../view.ts';
import { canAsk } from '../views.ts';
import type { ChatFront } from './front.ts';
import { GateQueue } from './gate-queue.ts';

/** What a conversation is made of. */
export interface ChatParts {
  readonly work: OpenSession;
  readonly options: ChatOptions;
  readonly host: Host;
  readonly secrets: SecretFilter;
  readonly front: ChatFront;
}

/** A turn to follow. */
export interface FollowedTurn {
  readonly turn: Turn;
  /** What it is shown to answer; `undefined`: what its first event says. */
  readonly prompt: string | undefined;
  /** The number of the last event of another process: nothing before it is acted on. */
  readonly pastSeq: number;
}

/** Who is told of a turn. */
export interface WatchListener {
  /** The turn is to be seen. */
  begun(): void;
  /** The model is told what was said to the turn. */
  steered(text: string): void;
  /** A question stays open: the person wants it so, or nobody can be asked. */
  left(view: View): void;
  /** Asking went wrong. */
  failed(error: unknown): void;
}

/** How a turn ended. */
export interface WatchedEnd extends RunEnd {
  readonly result: TurnResult;
}

export class TurnWatch {
  readonly #parts: ChatParts;
  readonly #followed: FollowedTurn;
  readonly #listener: WatchListener;
  readonly #gates: GateQueue;
  readonly #isAsked: boolean;
  /** What the turn is shown by. */
  readonly view: View;
  #stepSeq = 1;
  #denied = 0;
  #isInterrupted = false;

  constructor(parts: ChatParts, followed: FollowedTurn, listener: WatchListener) {
    const { work, options, host, secrets, front } = parts;
    this.#parts = parts;
    this.#followed = followed;
    this.#listener = listener;
    this.view = front.turnView();
    this.#isAsked = canAsk(options, host) && work.approval === 'ask';
    this.#gates = new GateQueue({
      ...{ session: work.session, front, secrets, left: () => listener.left(this.view) },
      inputOf: callId => inputOf(work, callId, this.#stepSeq),
    });
  }

  /** Interrupts the turn; gives whether that was the first time. */
  interrupt(): boolean {
    if (this.#isInterrupted) return false;
    this.#isInterrupted = true;
    this.view.notice('interrupting the turn; Ctrl-C again quits at once');
    this.#followed.turn.interrupt('SIGINT');
    return true;
  }

  /** Follows the turn to its end, which is to be shown yet; `undefined` for one that was taken out of the queue. */
  async toEnd(): Promise<WatchedEnd | undefined> {
    const { turn } = this.#followed;
    let hasBegun = false;
    for await (const event of turn.subscribe()) {
      hasBegun ||= event.type === 'turn.started';
      if (hasBegun) this.#take(event);
    }
    this.#gates.close();
    const result = await turn.result;
    if (!hasBegun) return undefined;
    const { approval, agent } = this.#parts.work;
    const denied = approval === 'none' ? this.#denied : 0;
    return { ...conclude(result, { denied, remote: agent.remote }), result };
  }

  #take(event: TurnEvent): void {
    const { agent } = this.#parts.work;
    if (event.type === 'turn.started') {
      const prompt = this.#followed.prompt ?? textOf(event.input);
      this.view.start({ model: undefined, workspace: undefined, mode: '', prompt, tries: mostTries(agent) });
      this.#listener.begun();
    }
    if (event.type === 'step.started') this.#stepSeq = event.seq;
    if (event.type === 'tool.completed' && isUnasked(event)) this.#denied += 1;
    this.view.event(event);
    if (event.type === 'input.steered') this.#listener.steered(textOf(event.input));
    if (event.type === 'gate.resolved') this.#gates.resolved(event.gateId);
    if (event.seq >= this.#followed.pastSeq) this.#ask(event);
  }

  #ask(event: TurnEvent): void {
    const isTakenUp = event.seq === this.#followed.pastSeq;
    for (const gate of gatesAt(event, this.#parts.work.session, isTakenUp)) {
      if (this.#isAsked) void this.#gates.open(gate).catch(error => this.#listener.failed(error));
      else this.#listener.left(this.view);
    }
  }
}
