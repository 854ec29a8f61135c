/** A model that plays a recording through the real provider package, with the recorded responses in the place of the network. */
import { readTyped } from '../define/options.ts';
import type { LanguageModel, ModelRequest } from '../model/model.ts';
import { parseJSON, type RecordedResponse, type Recording, requireRecording } from './recording.ts';
import { refuseForTest } from './refusal.ts';
import { createProvider } from './replay-provider.ts';
import { collectStream, partsOf } from './stream-content.ts';

/** How the text of a recorded stream arrives: an event at a time, all at once, or in pieces of so many bytes. */
export type ReplaySplit = 'events' | 'whole' | number;

/** The options of `replayModel`. */
export interface ReplayModelOptions {
  /** Default `events`. A number cuts inside of characters and lines. */
  readonly split?: ReplaySplit;
}

/** A model that plays a recording. */
export type ReplayModel = LanguageModel & {
  /** The bodies of the requests that the provider package sent, parsed. */
  readonly received: readonly unknown[];
};

/**
 * A model that answers the i-th request with the i-th recorded response, whatever is asked, and requests after the last one with
 * status 410. `doStream` and `doGenerate` both work on every recording. Imports the provider package that the recording names, and
 * rejects with a `TypeError` that says what to install where it is absent.
 */
export async function replayModel(recording: Recording, options: ReplayModelOptions = {}): Promise<ReplayModel> {
  const { split = 'events' } = readTyped(options, ['split'], 'replayModel', refuseForTest);
  requireRecording(recording);
  const tape = new Tape(recording, split);
  const provider = await createProvider(recording, tape.fetch);
  return Object.freeze({
    specificationVersion: 'v4',
    provider: provider.provider,
    modelId: provider.modelId,
    supportedUrls: provider.supportedUrls,
    received: tape.received,
    async doStream(request: ModelRequest) {
      if (!tape.nextIsWhole) return provider.doStream(request);
      const result = await provider.doGenerate(request);
      const response = result.response?.headers && { headers: result.response.headers };
      return { stream: streamOf(partsOf(result)), ...(response && { response }) };
    },
    async doGenerate(request: ModelRequest) {
      if (!tape.nextIsStream) return provider.doGenerate(request);
      return collectStream((await provider.doStream(request)).stream);
    },
  } satisfies ReplayModel);
}

/** The recorded responses, and how far they have been played. */
class Tape {
  readonly received: unknown[] = [];
  readonly fetch: typeof globalThis.fetch;
  readonly #recording: Recording;
  readonly #split: ReplaySplit;
  #played = 0;

  constructor(recording: Recording, split: ReplaySplit) {
    this.#recording = recording;
    this.#split = split;
    this.fetch = async (_url, init) => this.#answer(init);
  }

  /** Whether the next response is one JSON body that holds an answer. */
  get nextIsWhole(): boolean {
    const response = this.#next;
    return response !== undefined && response.sse === undefined && response.status < 400;
  }

  get nextIsStream(): boolean {
    return this.#next?.sse !== undefined;
  }

  get #next(): RecordedResponse | undefined {
    return this.#recording.exchanges[this.#played]?.response;
  }

  async #answer(init: RequestInit | undefined): Promise<Response> {
    init?.signal?.throwIfAborted();
    const body = typeof init?.body === 'string' ? init.body : '';
    this.received.push(parseJSON(body) ?? body);
    const recorded = this.#next;
    if (recorded === undefined) return this.#exhausted();
    this.#played += 1;
    const { status, headers = {}, sse } = recorded;
    if (sse === undefined) return Response.json(recorded.body, { status, headers });
    return new Response(streamOf(pieces(sse, this.#split), init?.signal), { status, headers });
  }

  /** An error body of which every provider package reads the message. */
  #exhausted(): Response {
    const message = `recording ${this.#recording.name} has only ${this.#recording.exchanges.length} responses`;
    const error = { type: 'replay_model', code: 410, status: 'REPLAY', message };
    return Response.json({ type: 'error', error }, { status: 410 });
  }
}

function pieces(text: string, split: ReplaySplit): Uint8Array<ArrayBuffer>[] {
  const encoder = new TextEncoder();
  if (split === 'whole') return [encoder.encode(text)];
  if (split === 'events') return text.split(/(?<=\r?\n\r?\n)/).map(event => encoder.encode(event));
  const bytes = encoder.encode(text);
  const cut: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < bytes.length; from += split) cut.push(bytes.subarray(from, from + split));
  return cut;
}

function streamOf<T>(items: readonly T[], signal?: AbortSignal | null): ReadableStream<T> {
  let sent = 0;
  return new ReadableStream<T>(
    {
      pull(controller) {
        signal?.throwIfAborted();
        if (sent < items.length) controller.enqueue(items[sent++] as T);
        if (sent === items.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
