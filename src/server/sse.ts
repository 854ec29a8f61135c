/**
 * Server-sent events, written as the reader takes them.
 *
 * 1. The source is read ahead by a bounded number of characters, and no further until the reader has taken them: a reader that stops costs no more.
 * 2. A heartbeat is said only to a reader that waits, so that none ever queues behind another.
 * 3. Whichever way it ends (the source, the reader, the server), the source is told to stop, and the place is free again.
 */
import type { Clock, TimerHandle } from '../index.ts';

/** One message. */
export interface SseMessage {
  readonly data: string;
  /** From where a reader that was cut off goes on. */
  readonly id?: string;
  /** Its kind, for readers that tell kinds apart. Default: an ordinary message. */
  readonly event?: string;
}

/** Where messages come from. */
export interface SseSource {
  /** What is said first. */
  readonly opening: string;
  /** The next message as text, or `undefined` at the end. */
  next(): Promise<string | undefined>;
  /** The last message after the end, or after a failure. */
  closing(failure: { readonly error: unknown } | undefined, reason: string | undefined): string;
  /** Ends the reading: `next` settles soon. */
  stop(): void;
}

/** How many characters wait for a reader before the source is left alone. */
const MOST_WAITING_CHARACTERS = 65_536;

const HEARTBEAT = ': still here\n\n';

/** A message as text. */
export function messageText({ data, id, event }: SseMessage): string {
  const named = event === undefined ? '' : `event: ${event}\n`;
  const numbered = id === undefined ? '' : `id: ${id}\n`;
  return `${named}${numbered}data: ${data}\n\n`; // JSON has no line break
}

/** One stream to one reader. */
export class SseStream {
  readonly #source: SseSource;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #onEnd: () => void;
  readonly #encoder = new TextEncoder();
  #waiting: string;
  #isReading = false;
  #isOver = false;
  #reason: string | undefined;
  /** Set while the reader waits. */
  #wake: (() => void) | undefined;
  #beat: TimerHandle | undefined;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;

  constructor(source: SseSource, clock: Clock, heartbeatMs: number, onEnd: () => void) {
    this.#source = source;
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
    this.#onEnd = onEnd;
    this.#waiting = source.opening;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      { pull: controller => this.#pull(controller), cancel: () => this.#cancel() },
      { highWaterMark: 0 },
    );
  }

  /** Ends the stream from the server's side: what waits is still given, then the reason. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#source.stop();
    void this.#read(); // a reader that waits is answered, one that does not finds the end when it comes
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    void this.#read();
    if (this.#waiting === '' && !this.#isOver) await this.#something();
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') controller.enqueue(this.#encoder.encode(text));
    if (this.#isOver) controller.close();
  }

  /** Settles when something is there to be given. */
  #something(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#beat = this.#clock.setTimer(() => {
      this.#waiting += HEARTBEAT;
      this.#answer();
    }, this.#heartbeatMs);
    this.#wake = resolve;
    return promise;
  }

  #answer(): void {
    const wake = this.#wake;
    if (wake === undefined) return;
    this.#wake = undefined;
    if (this.#beat !== undefined) this.#clock.clearTimer(this.#beat);
    this.#beat = undefined;
    wake();
  }

  /** Reads ahead, as far as there is room. Never rejects. */
  async #read(): Promise<void> {
    if (this.#isReading || this.#isOver) return;
    this.#isReading = true;
    try {
      while (!this.#isOver && this.#waiting.length < MOST_WAITING_CHARACTERS) {
        const text = await this.#source.next();
        if (text === undefined) this.#finish(undefined);
        else this.#waiting += text;
        this.#answer();
      }
    } catch (error) {
      this.#finish({ error });
      this.#answer();
    } finally {
      this.#isReading = false;
    }
  }

  #finish(failure: { readonly error: unknown } | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting += this.#source.closing(failure, this.#reason);
    this.#source.stop();
    this.#onEnd();
  }

  #cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting = '';
    this.#source.stop();
    this.#answer();
    this.#onEnd();
  }
}
