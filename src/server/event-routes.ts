/** The events of a session, as they happen, to any number of readers. */

import type { SessionHost } from '../engines/host.ts';
import { EVENT_DURABILITY, type SessionEvent } from '../index.ts';
import { problem } from './answers.ts';
import { EVENT } from './event-schemas.ts';
import { httpErrorOf } from './http-error.ts';
import { type Route, route } from './route.ts';
import { messageText, type SseSource } from './sse.ts';

const SEQ = { type: 'integer', minimum: 0, default: 0 } as const;

/** After how many milliseconds a reader that was cut off comes again. */
const RETRY_MS = 2_000;

/** The stream of a session's events. */
export const EVENT_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/sessions/{session}/events', id: 'readEvents', isStream: true },
    summary: 'The events of a session: those that are recorded, then those that come',
    query: { after: { description: 'Begin after the event of this number.', schema: SEQ } },
    headers: {
      'Last-Event-ID': { description: 'The last event that was read; goes before `after`.', schema: SEQ },
    },
    answers: {
      200: { description: 'Events, one a message.', schema: EVENT, type: 'text/event-stream' },
    },
    errors: [404],
    async handle({ param, given }, { host, streams, options }) {
      streams.requireRoom();
      const sessionId = param('session');
      await host.find(sessionId); // an unknown one is refused before the stream begins
      const after = Number(given['Last-Event-ID'] ?? given.after ?? 0);
      streams.requireRoom();
      return streams.respond(new SessionEvents(host, sessionId, after, options.onError));
    },
  }),
];

/** Texts of events that several readers are told: events are frozen. */
const texts = new WeakMap<SessionEvent, string>();

function textOf(event: SessionEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const isEnduring = EVENT_DURABILITY[event.type] === 'enduring';
  const text = messageText({ data: JSON.stringify(event), ...(isEnduring && { id: String(event.seq) }) });
  texts.set(event, text);
  return text;
}

class SessionEvents implements SseSource {
  readonly opening = `retry: ${RETRY_MS}\n\n`;
  readonly #abort = new AbortController();
  readonly #events: AsyncIterator<SessionEvent>;
  readonly #onError: (error: unknown) => void;

  constructor(host: SessionHost, sessionId: string, after: number, onError: (error: unknown) => void) {
    this.#events = host.events(sessionId, { after, signal: this.#abort.signal })[Symbol.asyncIterator]();
    this.#onError = onError;
  }

  async next(): Promise<string | undefined> {
    try {
      const { value, done } = await this.#events.next();
      return done === true ? undefined : textOf(value);
    } catch (error) {
      if (this.#abort.signal.aborted) return undefined;
      throw error;
    }
  }

  closing(failure: { readonly error: unknown } | undefined, reason = 'the server has ended'): string {
    if (failure === undefined) return messageText({ event: 'end', data: JSON.stringify({ reason }) });
    this.#onError(failure.error);
    return messageText({ event: 'failure', data: JSON.stringify(problem(httpErrorOf(failure.error))) });
  }

  stop(): void {
    this.#abort.abort();
    void Promise.resolve(this.#events.return?.()).catch(() => {});
  }
}
