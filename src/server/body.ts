/** The body of a request: JSON, counted while it comes, and nothing in it that could do harm by its shape. */
import { HttpError } from './http-error.ts';

/** How deep a body may be nested. What handles it goes down as deep. */
const MOST_DEPTH = 100;

/** The parsed body. Throws `HttpError` 400, 413, 415 or 422. */
export async function readJson(request: Request, mostBytes: number): Promise<unknown> {
  requireJson(request.headers);
  const text = await readText(request, mostBytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body of the request is no JSON');
  }
  requireHarmless(value);
  return value;
}

/** A form of another page can send a few types without asking, and JSON is none of them. */
function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  const isUtf8 = !/;\s*charset=/i.test(type) || /;\s*charset="?utf-8"?\s*(;|$)/i.test(type);
  if (!/^application\/json\s*(;|$)/i.test(type) || !isUtf8) {
    throw new HttpError(415, 'unsupported_media_type', 'the body must be JSON: "Content-Type: application/json"');
  }
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new HttpError(415, 'unsupported_media_type', 'the body must come as it is, without a "Content-Encoding"');
  }
}

/** What a client says of the length is believed only where it says too much. */
async function readText(request: Request, mostBytes: number): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) throw tooLarge(mostBytes);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes > mostBytes) {
      void reader?.cancel().catch(() => {});
      throw tooLarge(mostBytes);
    }
    chunks.push(part.value);
  }
  return decode(chunks, bytes);
}

function decode(chunks: readonly Uint8Array[], bytes: number): string {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(whole);
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body of the request is no UTF-8 text');
  }
}

function tooLarge(mostBytes: number): HttpError {
  return new HttpError(413, 'body_too_large', `the body of a request may have ${mostBytes} bytes at most`);
}

/** Goes through level by level, so that no depth can end the program. */
function requireHarmless(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) {
      throw new HttpError(422, 'invalid_body', `the body may be nested ${MOST_DEPTH} levels deep at most`);
    }
    level = level.flatMap(item => {
      if (typeof item !== 'object' || item === null) return [];
      if (Object.hasOwn(item, '__proto__')) {
        throw new HttpError(422, 'invalid_body', 'the body may have no field of the name "__proto__"');
      }
      return Object.values(item);
    });
  }
}
