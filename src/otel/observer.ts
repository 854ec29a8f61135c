/** The observer of a rig: hands each turn's events to its spans. */
import { type Context, context } from '@opentelemetry/api';
import { isTerminal, type SessionEvent, type TurnEvent, type TurnResumed, type TurnStarted } from '../events/events.ts';
import { agentOf } from './agent.ts';
import type { TurnEnd } from './figures.ts';
import { type OpenTelemetryOptions, type ResolvedTelemetry, resolveTelemetry } from './options.ts';
import { type Instruments, instrumentsOf } from './telemetry.ts';
import { type TurnOpening, TurnSpans } from './turn-spans.ts';

/** An observer that tells OpenTelemetry what it sees. Give it to `defineRig({ observers })`, and to `traceTools`. */
export type TelemetryObserver = (event: SessionEvent) => void;

const TELEMETRY = new WeakMap<TelemetryObserver, Telemetry>();

/**
 * Makes an observer that turns the events of all sessions of a rig into spans and metrics by the GenAI semantic conventions: `invoke_agent` for a
 * turn, and under it `chat` for each model call and `execute_tool` for each call that started, at the times of the events. What it throws is
 * reported as any observer's is, and changes nothing for the turn. Throws `DefinitionError` `invalid_option`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { openTelemetry } from 'looprig/otel';
 * import { scriptedModel } from 'looprig/testing';
 *
 * const agent = defineLoop({ name: 'agent', model: scriptedModel([{ text: 'Hello.' }]) });
 * const rig = defineRig({ loops: [agent], observers: [openTelemetry({ loop: agent })] });
 * await using session = await rig.open();
 * await session.run('Hello?'); // a span "invoke_agent agent", and in it "chat scripted-model"
 * ```
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): TelemetryObserver {
  const telemetry = new Telemetry(resolveTelemetry(options));
  const observer: TelemetryObserver = event => telemetry.take(event);
  TELEMETRY.set(observer, telemetry);
  return observer;
}

/** The context of a call that runs, by the observer that sees it. `undefined` for an observer of another kind, and for a call that it does not know. */
export function contextOfCall(observer: TelemetryObserver, turnId: string, callId: string): Context | undefined {
  return TELEMETRY.get(observer)?.contextOf(turnId, callId);
}

/** Whether `value` was made by `openTelemetry`. */
export function isTelemetryObserver(value: unknown): value is TelemetryObserver {
  return typeof value === 'function' && TELEMETRY.has(value as TelemetryObserver);
}

class Telemetry {
  readonly #options: ResolvedTelemetry;
  /** Open turns by id, the oldest first. */
  readonly #turns = new Map<string, TurnSpans>();
  #instruments: Instruments | undefined;

  constructor(options: ResolvedTelemetry) {
    this.#options = options;
  }

  take(event: SessionEvent): void {
    switch (event.type) {
      case 'turn.started':
      case 'turn.resumed':
        this.#open(event);
        break;
      case 'turn.released':
        this.#turns.get(event.turnId)?.abandon();
        this.#turns.delete(event.turnId);
        break;
      case 'input.received':
      case 'input.cancelled':
      case 'mode.changed':
      case 'session.drift':
      case 'observer.failed':
      case 'events.dropped':
        break;
      default:
        if (isTerminal(event)) this.#end(event);
        else this.#turnOf(event)?.take(event);
    }
  }

  contextOf(turnId: string, callId: string): Context | undefined {
    return this.#turns.get(turnId)?.contextOf(callId);
  }

  #turnOf(event: TurnEvent & { readonly turnId: string }): TurnSpans | undefined {
    const turn = this.#turns.get(event.turnId);
    return turn?.concerns(event) === true ? turn : undefined;
  }

  #open(event: TurnStarted | TurnResumed): void {
    const { turnId } = event;
    // A turn that this process began too, in a session that it no longer goes on with.
    const before = this.#turns.get(turnId);
    this.#turns.delete(turnId);
    before?.abandon();
    this.#turns.set(turnId, this.#spans(event, before));
    if (this.#turns.size <= this.#options.maxOpenTurns) return;
    for (const [oldest, turn] of this.#turns) {
      this.#turns.delete(oldest);
      turn.abandon();
      break;
    }
  }

  #spans(event: TurnOpening, before: TurnSpans | undefined): TurnSpans {
    this.#instruments ??= instrumentsOf(this.#options); // not earlier: the program may set its providers after it has defined its rig
    const { loopOf, parent } = this.#options;
    const agent = agentOf(loopOf(event.sessionId), event.type === 'turn.started' ? event.mode : undefined);
    const links = before === undefined ? [] : [before.link];
    return new TurnSpans(this.#instruments, agent, parent(event) ?? context.active(), event, links);
  }

  #end(event: TurnEnd): void {
    const turn = this.#turns.get(event.turnId);
    if (turn === undefined) {
      // Its start could not be recorded, so that there was none to be seen. A turn that never began for another reason is none.
      if (event.type === 'turn.failed' && event.steps === 0) this.#spans(event, undefined).end(event);
      return;
    }
    if (!turn.concerns(event)) return;
    this.#turns.delete(event.turnId);
    turn.end(event);
  }
}
