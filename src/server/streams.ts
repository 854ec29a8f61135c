/** All streams that are open: there is a most of them, and they end with the server. */
import type { Clock } from '../index.ts';
import { answer } from './answers.ts';
import { again, HttpError } from './http-error.ts';
import { type SseSource, SseStream } from './sse.ts';

export class Streams {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #open = new Set<SseStream>();

  constructor(options: { readonly maxStreams: number; readonly clock: Clock; readonly heartbeatMs: number }) {
    this.#most = options.maxStreams;
    this.#clock = options.clock;
    this.#heartbeatMs = options.heartbeatMs;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Throws `HttpError` 503 where no more may be opened: before anything is done for one. */
  requireRoom(): void {
    if (this.#open.size < this.#most) return;
    const message = `${this.#most} streams are open, and no more may be: close one, or come again`;
    throw new HttpError(503, 'too_many_streams', message, again());
  }

  /** An answer that tells the source to its end. */
  respond(source: SseSource, headers: Readonly<Record<string, string>> = {}): Response {
    const stream = new SseStream(source, this.#clock, this.#heartbeatMs, () => this.#open.delete(stream));
    this.#open.add(stream);
    return answer(stream.body, 'text/event-stream', 200, { 'x-accel-buffering': 'no', ...headers });
  }

  /** Ends all of them. */
  end(reason: string): void {
    for (const stream of this.#open) stream.end(reason);
  }
}
