/** `read_tool_result`: the built-in tool by which a model reads on in its session's large results, once there are any. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { type BoundMode, BoundTool, boundMode } from '../bind/bound-loop.ts';
import { resolveSchema } from '../define/schema.ts';
import { READ_TOOL_RESULT_TOOL_NAME, show, type ToolReturn, toolError } from '../define/tool.ts';
import type { ResultCapture } from '../journal/journal.ts';

/** What is read, and for whom. */
export interface CaptureSource {
  readonly sessionId: string;
  readonly loopId: string;
  /** The session's large results: no other can be read. Grows as they are recorded. */
  readonly captures: ReadonlyMap<string, ResultCapture>;
  /** The most that one answer may hold, in UTF-8 bytes. */
  readonly resultBytes: number;
  get(id: string): Promise<Uint8Array | undefined>;
}

/**
 * The mode as it is at any time: as it was bound while no result is kept, from then on with the tool that reads them. So the tool costs
 * nothing where it is not needed, and the list of tools, by which providers cache a prompt, changes once in a session.
 */
export function modeThatReads(mode: BoundMode, source: CaptureSource): () => BoundMode {
  let reading: BoundMode | undefined;
  return () => {
    if (source.captures.size === 0) return mode;
    reading ??= boundMode(mode, [...mode.tools, readToolResult(source)]);
    return reading;
  };
}

interface ReadInput {
  readonly id: string;
  readonly offset?: number;
  readonly bytes?: number;
}

const DESCRIPTION =
  'Reads on in a result of a tool that was too long to be shown whole. The note in that result says its id, and the offset of what was left out.';

const SCHEMA = resolveSchema({
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The id in the note.' },
    offset: { type: 'integer', minimum: 0, description: 'Where to begin, in bytes. Default 0.' },
    bytes: {
      type: 'integer',
      minimum: 1,
      description: 'How much to read. Default and most: what one result may hold.',
    },
  },
  required: ['id'],
});

/** How long a store may take to give a result back. */
const READ_TIMEOUT_MS = 30_000;

function readToolResult(source: CaptureSource): BoundTool {
  const name = READ_TOOL_RESULT_TOOL_NAME;
  const info = Object.freeze({ name, description: DESCRIPTION, inputSchema: SCHEMA.jsonSchema });
  const fetch = checkedFetch(source);
  const execute = (input: unknown): Promise<ToolReturn> => read(input as ReadInput, source, fetch);
  return new BoundTool(info, name, SCHEMA, { execute, idempotent: true, timeoutMs: READ_TIMEOUT_MS }, source);
}

async function read(
  { id, offset = 0, bytes }: ReadInput,
  source: CaptureSource,
  fetch: CheckedFetch,
): Promise<ToolReturn> {
  const known = find(source.captures, id);
  if (typeof known === 'string') return toolError(known);
  const size = known.bytes;
  if (offset >= size) {
    return toolError(`nothing is at offset ${offset}: ${sizeOf(known)}, so the last one is at offset ${size - 1}`);
  }
  const kept = await fetch(known);
  if (typeof kept === 'string')
    return toolError(`the result ${show(id)} cannot be read: what was kept of it is ${kept}`);
  const start = characterAt(kept, offset);
  const room = source.resultBytes - longestHead(known);
  const end = characterAt(kept, Math.min(start + Math.min(bytes ?? room, room), size));
  return headed(kept, start, end > start ? end : nextCharacter(kept, start), known);
}

/** The bytes of a capture, or what is wrong with them. */
type CheckedFetch = (capture: ResultCapture) => Promise<Uint8Array | 'not there' | 'damaged'>;

/**
 * Fetches captures and checks their hashes. The last one stays at hand for as long as the reader lives, which is one turn: a long result
 * is read in many calls, and to fetch and hash the whole of it each time would cost more than all else.
 */
function checkedFetch({ get }: CaptureSource): CheckedFetch {
  let last: { readonly id: string; readonly kept: Uint8Array } | undefined;
  return async ({ id, bytes }) => {
    if (last?.id === id) return last.kept;
    let kept: Uint8Array | undefined;
    try {
      kept = await get(id);
    } catch {
      kept = undefined; // whatever a store says of itself is not for the model
    }
    if (kept === undefined) return 'not there';
    if (kept.length !== bytes || bytesToHex(sha256(kept)) !== id) return 'damaged';
    last = { id, kept };
    return kept;
  };
}

/** The one capture whose id begins so, or why there is none, for the model. */
function find(captures: CaptureSource['captures'], id: string): ResultCapture | string {
  const digits = id.trim().toLowerCase();
  const found = [...captures.values()].filter(known => digits.length >= LEAST_DIGITS && known.id.startsWith(digits));
  const [only, second] = found;
  if (only === undefined)
    return `no result of this session has the id ${show(id)}: take it from the note of a result that was cut`;
  return second === undefined ? only : `the id ${show(id)} stands for several results: it tells none of them`;
}

/** What a note tells of an id. */
const LEAST_DIGITS = 16;

/** A part of a capture, after one line that says which, and how to go on. */
function headed(kept: Uint8Array, start: number, end: number, capture: ResultCapture): string {
  return `${head(start, end, end < capture.bytes, capture)}\n${decoder.decode(kept.subarray(start, end))}`;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function head(start: number, end: number, isMore: boolean, capture: ResultCapture): string {
  const { bytes, totalBytes } = capture;
  const place = `bytes ${start} to ${end} of ${bytes}`;
  if (isMore) return `[${place}; read on with offset ${end}]`;
  if (bytes === totalBytes) return `[${place}: the end]`;
  return `[${place}: the end of what was kept; the whole result had ${totalBytes} bytes]`;
}

/** The most bytes that the line before a part takes, with its line break. */
function longestHead(capture: ResultCapture): number {
  const { bytes } = capture;
  return 1 + Math.max(head(bytes, bytes, true, capture).length, head(bytes, bytes, false, capture).length);
}

function sizeOf({ bytes, totalBytes }: ResultCapture): string {
  if (bytes === totalBytes) return `the result has ${bytes} bytes`;
  return `of the ${totalBytes} bytes of the result the first ${bytes} were kept`;
}

/** The start of the character that the byte at `offset` belongs to. */
function characterAt(utf8: Uint8Array, offset: number): number {
  let start = offset;
  while (start > 0 && isInside(utf8, start)) start -= 1;
  return start;
}

function nextCharacter(utf8: Uint8Array, start: number): number {
  let next = start + 1;
  while (isInside(utf8, next)) next += 1;
  return next;
}

/** Whether the byte at `offset` goes on a character that begins before it. */
function isInside(utf8: Uint8Array, offset: number): boolean {
  return ((utf8[offset] ?? 0) & 0xc0) === 0x80;
}
