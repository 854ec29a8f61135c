/** Recordings of real exchanges with model providers, as JSON files hold them. */

/** A response as it was recorded: a whole event stream as text, or a parsed JSON body. */
export interface RecordedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sse?: string;
  readonly body?: unknown;
}

/** What a client sent, where it was kept, and what came back. */
export interface RecordedExchange {
  readonly request: { readonly path?: string; readonly body: unknown } | null;
  readonly response: RecordedResponse;
}

/** A series of exchanges with one model. */
export interface Recording {
  readonly name: string;
  /** The package to play it with: `anthropic`, `openai`, `google` or `openai-compatible`. */
  readonly provider: string;
  /** The wire format: `anthropic-messages`, `openai-chat`, `openai-responses` or `gemini-generate-content`. */
  readonly api: string;
  readonly model: string;
  readonly exchanges: readonly RecordedExchange[];
}

/** Throws `TypeError` for what is no recording, with the field that is wrong. */
export function requireRecording(value: unknown): asserts value is Recording {
  if (typeof value !== 'object' || value === null) throw new TypeError('a recording is an object with "exchanges"');
  for (const field of ['name', 'provider', 'api', 'model']) {
    const found: unknown = Reflect.get(value, field);
    if (typeof found !== 'string')
      throw new TypeError(`"${field}" of a recording must be a string, not ${typeof found}`);
  }
  const exchanges: unknown = Reflect.get(value, 'exchanges');
  if (!Array.isArray(exchanges)) throw new TypeError('"exchanges" of a recording must be a list');
  exchanges.forEach((exchange, index) => {
    if (typeof exchange?.response?.status === 'number') return;
    throw new TypeError(`exchanges[${index}] of a recording must have a response with a status`);
  });
}

/** The data of each event of an event stream, parsed; what is no JSON (an end mark, a comment) is passed over. */
export function eventsOf(sse: string): unknown[] {
  return sse.split(/\r?\n\r?\n/).flatMap(event => {
    const data = event
      .split(/\r?\n/)
      .filter(line => line.startsWith('data:'))
      .map(line => line.slice(5).trim())
      .join('\n');
    const parsed = parseJSON(data);
    return parsed === undefined ? [] : [parsed];
  });
}

/** The value that a JSON text holds, or `undefined` where it is none. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
