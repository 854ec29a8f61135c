/**
 * Results that are too long to be shown whole: kept by the store before they are recorded, and shown with a note that says how to read
 * on. A store that fails or never ends costs the rest of a result, never the result.
 */
import { READ_TOOL_RESULT_TOOL_NAME } from '../define/tool.ts';
import type { ResultCapture } from '../journal/journal.ts';
import type { TurnContext } from './context.ts';
import { type Advice, utf8Length } from './cut.ts';
import { limitResult, type ModelResult, textLeftOut } from './result.ts';

/** How long a store may take to keep one result. */
const KEEP_TIMEOUT_MS = 10_000;

/** How much of a capture's SHA-256 a model is told: few digits to copy, and enough to tell a session's captures apart. */
const ID_DIGITS = 16;

/**
 * Keeps the text that was left out of `shown`, with the rest of it: gives the result that says where to read on, or `shown` if it could
 * not be kept. `undefined` if nothing is to be kept. The promise never rejects.
 */
export function keepWhole(turn: TurnContext, whole: ModelResult, shown: ModelResult): Promise<ModelResult> | undefined {
  const { captureBytes, resultBytes } = turn.limits;
  if (captureBytes === 0 || turn.interruption.cause !== undefined) return undefined; // a turn that is stopped waits for nothing
  const left = leftOut(whole, shown, captureBytes);
  if (left === undefined) return undefined;
  const { bytes, totalBytes } = left;
  return put(turn, bytes).then(id => {
    if (id === undefined) return shown;
    const capture = Object.freeze({ id, bytes: bytes.length, totalBytes });
    return { ...limitResult(whole, resultBytes, readOn(capture)), capture };
  });
}

/** What is to be kept, and the size of all of it; `undefined` also for what is larger than the platform can hold a second time. */
function leftOut(
  whole: ModelResult,
  shown: ModelResult,
  captureBytes: number,
): { readonly bytes: Uint8Array; readonly totalBytes: number } | undefined {
  try {
    const text = textLeftOut(whole, shown);
    if (text === undefined) return undefined;
    const totalBytes = utf8Length(text);
    return { bytes: encoded(text, Math.min(totalBytes, captureBytes)), totalBytes };
  } catch {
    return undefined;
  }
}

/** The first `most` UTF-8 bytes of a text, without a part of a character at their end. */
function encoded(text: string, most: number): Uint8Array {
  const buffer = new Uint8Array(most);
  const { written } = new TextEncoder().encodeInto(text, buffer);
  return written === most ? buffer : buffer.slice(0, written);
}

/** The SHA-256 under which the store keeps the bytes; `undefined` if it fails, or takes too long. */
async function put(turn: TurnContext, bytes: Uint8Array): Promise<string | undefined> {
  const late = Promise.withResolvers<undefined>();
  const deadline = turn.deadlines.set(KEEP_TIMEOUT_MS, () => late.resolve(undefined));
  try {
    const id: unknown = await Promise.race([turn.keep(bytes), late.promise]);
    return typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) ? id : undefined;
  } catch {
    return undefined; // whatever a store says of itself is not for the model
  } finally {
    turn.deadlines.clear(deadline);
  }
}

/** What the note of a result that is kept says: how to read on where it was cut. */
function readOn({ id, bytes, totalBytes }: ResultCapture): Advice {
  const partly = bytes === totalBytes ? '' : `; only the first ${bytes} bytes were kept`;
  const at = (offset: number): string => {
    if (offset >= bytes) return ' The call itself was complete; this was not kept: ask for a smaller part to see it.';
    const input = JSON.stringify({ id: id.slice(0, ID_DIGITS), offset });
    return ` The call itself was complete; read on: ${READ_TOOL_RESULT_TOOL_NAME} ${input}${partly}.`;
  };
  return { longest: Math.max(utf8Length(at(bytes - 1)), utf8Length(at(bytes))), at };
}
