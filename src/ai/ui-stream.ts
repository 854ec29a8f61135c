/** A turn as AI SDK's UI message stream, the protocol that `useChat` reads. */
import type { UIMessage, UIMessageChunk } from 'ai';
import { type Refusal, readTyped } from '../define/options.ts';
import {
  type ErrorSummary,
  EVENT_DURABILITY,
  isTerminal,
  type LimitReached,
  type Message,
  type PendingGate,
  SessionError,
  type TurnEvent,
  type Usage,
} from '../index.ts';
import { type PageProgress, progressOf } from './approvals.ts';
import { type Telling, type TurnEnd, UIChunks } from './ui-chunks.ts';

/** Options of `toUIMessageStream`. */
export interface UIMessageStreamOptions {
  /**
   * The turn's session. With it the stream ends where the turn waits for a person, as `useChat` expects: the page's answer comes with its next request, and
   * the stream that answers that one tells the rest. Without it the stream stays open over a gate, for a page that answers on a way of its own.
   */
  readonly session?: ToldSession;
  /** The page's message that the stream goes on with: what it shows is not told again, but for the step that it is in where that has changed. Default: the whole turn is told. */
  readonly continues?: UIMessage;
  /** Whether the model's reasoning is told. Default true. */
  readonly sendReasoning?: boolean;
  /** How a tool's progress is told: as its output so far, or as a transient part `data-tool-progress` with `{ toolCallId, toolName, update }`. Default `preliminary`. */
  readonly progress?: 'preliminary' | 'data';
  /** What a page is told of a turn that failed. Default: limits and times in words, anything else by its kind alone, since messages of providers and stores are not for everybody. */
  readonly onError?: (error: ErrorSummary) => string;
  /** The message's metadata at the end of the turn. Default: `TurnMetadata`. */
  readonly messageMetadata?: (end: TurnEnd) => unknown;
  /** Called when the page stops reading; the turn goes on. Interrupt it here if that is what leaving means. Default: nothing. */
  readonly onCancel?: () => void;
}

/** What a message's metadata says of its turn, unless `messageMetadata` says something else. */
export interface TurnMetadata {
  readonly turnId: string;
  readonly status: 'done' | 'failed' | 'interrupted';
  readonly usage: Usage;
  readonly steps: number;
  readonly iterations: number;
  readonly calls: number;
  /** The limit that ended the turn. */
  readonly limit?: LimitReached['limit'];
}

/** What is known of the session of a turn that is told. A `Session` is one. */
export interface ToldSession {
  /** The gates that wait now. */
  readonly gates: readonly PendingGate[];
  /** The turn that runs. */
  readonly turn: { readonly id: string } | undefined;
  readonly history: readonly Message[];
}

/** A turn that can be told: a `Turn`, or whatever gives the events of one. */
export interface ToldTurn {
  readonly id: string;
  /** A reader of its own, from the turn's first event to its terminal one. */
  subscribe(): AsyncIterator<TurnEvent, undefined>;
}

/**
 * Tells a turn to a page that uses `useChat`, from its beginning: a reader that comes late is told all that was recorded, and what comes. The message's
 * id is the turn's, those of its tool parts are the calls'. The stream ends with exactly one `finish`; a failed turn has an `error` before it, an interrupted one an
 * `abort`. A typed output is a part `data-output`. An attempt that is made again is taken back with `reset-step`.
 *
 * Hand it to `createUIMessageStreamResponse` of AI SDK. Every call of it reads on its own, and none keeps the turn from running.
 */
export function toUIMessageStream(
  turn: ToldTurn,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIMessageChunk> {
  const { onCancel, ...given } = readStreamOptions(options);
  const telling = new TurnTelling(turn, given);
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      for (const chunk of await telling.next()) controller.enqueue(chunk);
      if (telling.isOver) controller.close();
    },
    async cancel() {
      await telling.stop();
      onCancel?.();
    },
  });
}

/** Options of a stream whose session is known: all that a caller of `chatStream` may say. */
export const STREAM_OPTIONS = ['sendReasoning', 'progress', 'onError', 'messageMetadata', 'onCancel'] as const;

function readStreamOptions(options: UIMessageStreamOptions): UIMessageStreamOptions {
  const known = ['session', 'continues', ...STREAM_OPTIONS] as const;
  return readTyped(options, known, 'toUIMessageStream', refuseStream);
}

export const refuseStream: Refusal = (_field, message, details) => new SessionError('invalid_option', message, details);

class TurnTelling {
  readonly #turnId: string;
  readonly #reader: AsyncIterator<TurnEvent, undefined>;
  readonly #chunks: UIChunks;
  readonly #session: UIMessageStreamOptions['session'];
  readonly #onError: Telling['errorText'];
  /** How far the page has seen everything: the step that it is in, the gates of it that it shows, and whether it shows text of it. */
  readonly #seen: { readonly steps: number; readonly gates: Set<string>; readonly hasText: boolean };
  #ready: UIMessageChunk[] = [];
  #isPassing: boolean;
  isOver = false;

  constructor(turn: ToldTurn, options: UIMessageStreamOptions) {
    const { session, continues, sendReasoning = true, progress = 'preliminary' } = options;
    const { onError = errorTextOf, messageMetadata = metadataOf } = options;
    if (progress !== 'preliminary' && progress !== 'data') {
      throw new SessionError('invalid_option', '"progress" must be "preliminary" or "data"');
    }
    this.#turnId = turn.id;
    this.#session = session;
    this.#onError = onError;
    const seen = continues?.id === turn.id ? progressOf(continues) : NOTHING_SEEN;
    this.#seen = { steps: seen.steps, gates: new Set(seen.approvals), hasText: seen.hasText };
    this.#isPassing = seen.steps > 0;
    this.#ready.push({ type: 'start', messageId: turn.id });
    this.#chunks = new UIChunks(
      { sendReasoning, progress, errorText: onError, metadata: messageMetadata },
      chunk => void (this.#isPassing || this.#ready.push(chunk)),
    );
    this.#reader = turn.subscribe();
  }

  /** The next chunks, at least one; or none at the end. */
  async next(): Promise<readonly UIMessageChunk[]> {
    while (this.#ready.length === 0 && !this.isOver) await this.#read();
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.#reader.return?.();
  }

  async #read(): Promise<void> {
    try {
      const { value: event } = await this.#reader.next();
      if (this.isOver) return;
      if (event === undefined) await this.#breakOff('the turn could not be read to its end');
      else await this.#tell(event);
    } catch {
      await this.#breakOff('the events of the turn could not be read');
    }
  }

  async #tell(event: TurnEvent): Promise<void> {
    if (this.#isPassing) this.#passBefore(event);
    this.#chunks.take(event);
    if (this.#isPassing) this.#passAfter(event);
    if (isTerminal(event)) this.isOver = true;
    else if (!this.#isPassing && !DELTAS.has(event.type) && this.#isWaiting()) {
      this.#chunks.pause();
      await this.stop();
    }
  }

  /** In the step that the page is in, whatever is no gate goes beyond what it shows: that is said anew, and all that follows. */
  #passBefore(event: TurnEvent): void {
    const isEnd = isTerminal(event); // a page may show more than there is
    if (event.type.startsWith('gate.') || EVENT_DURABILITY[event.type] === 'ephemeral') return;
    if (this.#chunks.steps < this.#seen.steps && !isEnd) return;
    this.#isPassing = false;
    if (this.#chunks.steps >= this.#seen.steps) this.#chunks.retellStep();
  }

  /** With the last of the gates that the page shows, it has seen everything, but for text that came in one piece after it had begun to read. */
  #passAfter(event: TurnEvent): void {
    if (this.#chunks.steps < this.#seen.steps) return;
    if (event.type === 'gate.opened') this.#seen.gates.delete(event.gateId);
    else if (event.type !== 'step.started') return;
    if (this.#seen.gates.size > 0) return;
    this.#isPassing = false;
    if (event.type === 'step.started' || (this.#chunks.hasText && !this.#seen.hasText)) this.#chunks.retellStep();
  }

  /** Whether the turn waits, and all that it waits for is on the page. The gates of a batch open together. */
  #isWaiting(): boolean {
    const session = this.#session;
    if (session === undefined || session.turn?.id !== this.#turnId) return false;
    const { gates } = session;
    const own = gates.filter(({ turnId }) => turnId === this.#turnId);
    if (own.length > 0) return own.every(({ gateId }) => this.#chunks.gates.has(gateId));
    return this.#chunks.askWithin(gates, () => answeredCalls(session.history));
  }

  async #breakOff(message: string): Promise<void> {
    this.isOver = true;
    await Promise.resolve(this.#reader.return?.()).catch(() => {});
    const errorText = this.#onError({ name: 'JournalError', kind: 'store_failed', message });
    this.#ready.push({ type: 'error', errorText }, { type: 'finish', finishReason: 'error' });
  }
}

const NOTHING_SEEN: PageProgress = Object.freeze({ steps: 0, approvals: [], hasText: false });

const DELTAS: ReadonlySet<TurnEvent['type']> = new Set(['text.delta', 'reasoning.delta', 'tool.input.delta']);

/** The calls that are committed: a reader that comes late may still take them for running. */
function answeredCalls(history: readonly Message[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { role, content } of history) {
    if (role === 'tool') for (const part of content) if (part.type === 'tool-result') ids.add(part.toolCallId);
  }
  return ids;
}

/** Errors whose message is all our own words. */
const PLAIN_ERRORS: ReadonlySet<string> = new Set(['ToolLimitError', 'TurnTimeoutError']);

function errorTextOf({ name, kind, message }: ErrorSummary): string {
  return PLAIN_ERRORS.has(name) ? message : `The answer could not be finished (${kind}).`;
}

function metadataOf(end: TurnEnd): TurnMetadata {
  const { turnId, usage, steps, iterations, calls } = end;
  const reached = end.type === 'turn.done' ? end.limited : end.type === 'turn.failed' ? end.error.limit : undefined;
  const status = end.type === 'turn.done' ? 'done' : end.type === 'turn.failed' ? 'failed' : 'interrupted';
  return { turnId, status, usage, steps, iterations, calls, ...(reached && { limit: reached.limit }) };
}
