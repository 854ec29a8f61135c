import type { Workspace } from '../define/bindings.ts';
import { defineTool, type ToolDefinition } from '../define/tool.ts';
import { isBinary, type OpenedFile, openFile } from './files.ts';
import { type Line, readLines } from './lines.ts';
import { counted, shownPath } from './text.ts';

const MOST_LINES = 2_000;
const MOST_BYTES = 65_536;
const LONGEST_LINE = 2_000;

/** To give the number of lines, a file is read to its end; one larger than this is not. */
const COUNTED_BYTES = 10_485_760;

/** `read_file`: a text file, or a range of its lines. */
export const readFile: ToolDefinition = defineTool({
  name: 'read_file',
  description:
    'Reads a text file of the workspace, or a range of its lines. The first line of the answer names the file, the lines shown and how ' +
    `many it has; the text follows as it is. At most ${MOST_LINES} lines or 64 KiB at once: what is not shown is said, and can be read with start_line.`,
  input: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, maxLength: 4096, description: 'The file, relative to the workspace.' },
      start_line: { type: 'integer', minimum: 1, description: 'The first line to read, from 1. Default 1.' },
      end_line: {
        type: 'integer',
        minimum: 1,
        description: 'The last line to read, itself included. Default the last.',
      },
      line_numbers: {
        type: 'boolean',
        description: 'Puts its number and a tab before each line. Default false; they are not part of the file.',
      },
    },
    required: ['path'],
    additionalProperties: false,
  },
  requires: ['workspace'],
  create: ({ workspace }) => ({
    idempotent: true,
    summary: ({ path, start_line: start = 1, end_line: end }) =>
      start === 1 && end === undefined ? `read ${path}` : `read ${path}, lines ${start}-${end ?? 'end'}`,
    resource: async ({ path }) => ({ key: await workspace.resolve(path), mode: 'read' }),
    execute({ path, start_line: start = 1, end_line: end = Infinity, line_numbers: isNumbered = false }, { signal }) {
      if (end < start) throw new Error(`end_line ${end} is before start_line ${start}`);
      return readRange(workspace, path, { start, end, isNumbered, signal });
    },
  }),
});

interface Range {
  readonly start: number;
  readonly end: number;
  readonly isNumbered: boolean;
  readonly signal: AbortSignal;
}

async function readRange(workspace: Workspace, path: string, range: Range): Promise<string> {
  const file = await openFile(workspace, path);
  try {
    if (await isBinary(file.handle)) {
      throw new Error(`${file.name} is a binary file of ${counted(file.size, 'byte')}: it cannot be shown as text`);
    }
    const reading = await readShown(file, range);
    if (reading.total > 0 && range.start > reading.total) {
      throw new Error(
        `${file.name} has only ${counted(reading.total, 'line')}: start_line ${range.start} is behind its end`,
      );
    }
    return [header(file.name, reading), ...reading.shown, ...notes(reading)].join('\n');
  } finally {
    await file.handle.close();
  }
}

/** What was read of a file. */
interface Reading {
  readonly start: number;
  readonly shown: string[];
  /** The lines of the file; where `isCounted` is false, those that were gone through. */
  total: number;
  isCounted: boolean;
  hasReturns: boolean;
  hasCutLines: boolean;
  hasStrangeBytes: boolean;
}

async function readShown(file: OpenedFile, range: Range): Promise<Reading> {
  const reading: Reading = {
    start: range.start,
    shown: [],
    total: 0,
    isCounted: true,
    hasReturns: false,
    hasCutLines: false,
    hasStrangeBytes: false,
  };
  let room = MOST_BYTES;
  let isFull = false;
  const show = (line: Line): void => {
    const text = range.isNumbered ? `${reading.total}\t${line.text}` : line.text;
    room -= Buffer.byteLength(text) + 1;
    if (room < 0 && reading.shown.length > 0) {
      isFull = true;
      return;
    }
    reading.shown.push(text);
    reading.hasReturns ||= line.hasReturn;
    reading.hasCutLines ||= line.isCut;
    reading.hasStrangeBytes ||= line.text.includes('\ufffd');
  };
  for await (const lines of readLines(file.handle, { maxLineLength: LONGEST_LINE, signal: range.signal })) {
    for (const line of lines) {
      reading.total += 1;
      isFull ||= reading.shown.length >= MOST_LINES || reading.total > range.end;
      if (reading.total >= range.start && !isFull) show(line);
    }
    if (isFull && file.size > COUNTED_BYTES) {
      reading.isCounted = false;
      break;
    }
  }
  return reading;
}

function header(name: string, { start, shown, total, isCounted, hasReturns }: Reading): string {
  const ends = hasReturns ? ', CR LF line ends' : '';
  const path = shownPath(name);
  if (total === 0) return `${path} (empty)`;
  if (isCounted && shown.length === total) return `${path} (${counted(total, 'line')}${ends})`;
  const of = `${isCounted ? '' : 'more than '}${total.toLocaleString('en-US')}`;
  return `${path} (lines ${start}-${start + shown.length - 1} of ${of}${ends})`;
}

function notes({ start, shown, total, hasCutLines, hasStrangeBytes }: Reading): string[] {
  const next = start + shown.length;
  const parts: string[] = [];
  if (next <= total) parts.push(`read on with start_line ${next}`);
  if (hasCutLines) parts.push(`lines longer than ${LONGEST_LINE.toLocaleString('en-US')} characters are cut there`);
  if (hasStrangeBytes) parts.push('\ufffd stands for bytes that are not UTF-8 text');
  return parts.length === 0 ? [] : [`[${parts.join('; ')}]`];
}
