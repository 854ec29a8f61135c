/** A turn of a host, as AI SDK's stream tells one: its events, and what waits for a person, wherever the turn runs. */

import type { ToldSession, ToldTurn } from '../ai/ui-stream.ts';
import type { SessionDetails, SessionHost } from '../engines/host.ts';
import { delegateEventOf, isTerminal, type PendingGate, type SessionEvent, type TurnEvent } from '../index.ts';

/** Where a turn is found. */
export interface TurnPlace {
  readonly host: SessionHost;
  readonly sessionId: string;
  readonly turnId: string;
  /** A record before the turn's first one. */
  readonly after: number;
}

export class HostTurn implements ToldTurn, ToldSession {
  readonly #place: TurnPlace;
  readonly history: ToldSession['history'] = []; // what is read is what is known: nothing was committed that is not told
  #details: SessionDetails | undefined;
  #readSeq = 0;

  /** `details` are those of now, for a turn that may have begun long ago. */
  constructor(place: TurnPlace, details?: SessionDetails) {
    this.#place = place;
    this.#details = details;
  }

  get id(): string {
    return this.#place.turnId;
  }

  get turn(): { readonly id: string } | undefined {
    const { turnId } = this.#details ?? this.#place;
    return turnId === undefined ? undefined : { id: turnId };
  }

  /** Gates of delegates are known to be within calls that run only when all that was recorded has been read. */
  get gates(): readonly PendingGate[] {
    const { gates = [], lastSeq = 0 } = this.#details ?? {};
    return this.#readSeq >= lastSeq ? gates : gates.filter(({ turnId }) => turnId === this.id);
  }

  subscribe(): AsyncIterator<TurnEvent, undefined> {
    const { host, sessionId, after } = this.#place;
    const abort = new AbortController();
    const events = host.events(sessionId, { after, signal: abort.signal })[Symbol.asyncIterator]();
    return {
      next: async () => {
        for (let step = await events.next(); step.done !== true; step = await events.next()) {
          const event = step.value;
          this.#readSeq = event.seq;
          if (!isOfTurn(event, this.id)) continue;
          if (asksOrAnswers(event)) this.#details = await host.find(sessionId);
          if (isTerminal(event)) abort.abort();
          return { value: event, done: false };
        }
        return { value: undefined, done: true };
      },
      return: async () => {
        abort.abort();
        return { value: undefined, done: true };
      },
    };
  }
}

function isOfTurn(event: SessionEvent, turnId: string): event is TurnEvent {
  return 'turnId' in event && event.turnId === turnId;
}

/** Whether other gates may wait after the event than before it; gates of delegates come and go within the progress of a call. */
function asksOrAnswers(event: TurnEvent): boolean {
  if (event.type === 'gate.opened' || event.type === 'gate.resolved') return true;
  const inner = delegateEventOf(event)?.event;
  return inner !== undefined && 'turnId' in inner && asksOrAnswers(inner as TurnEvent);
}
