/** What the demo model has been told and shown: the prompt since the last user message, read back into facts. */
import type { Message, ModelRequest, ToolResultOutput } from '../index.ts';

/** A tool call of this turn and what it gave. */
interface DemoCall {
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Which of the turn's responses asked for it, from 0. */
  readonly round: number;
  readonly text: string;
  readonly isError: boolean;
}

/** The turn so far, as the prompt tells it. */
export interface DemoWork {
  readonly question: string;
  readonly calls: readonly DemoCall[];
  /** The turn is to come to its end: no more tools. */
  readonly mustFinish: boolean;
}

/** Reads the turn so far from a request. */
export function readWork({ prompt, toolChoice }: ModelRequest): DemoWork {
  const messages = prompt.filter(message => !isLimitNote(message));
  const start = messages.findLastIndex(message => message.role === 'user');
  const mustFinish = toolChoice?.type === 'none' || messages.length < prompt.length;
  return { question: questionOf(messages[start]), calls: callsOf(messages.slice(start + 1)), mustFinish };
}

/** The loop says in a last user message that limits are near; it is no question. */
function isLimitNote(message: Message): boolean {
  return message.role === 'user' && /^Note: .* left before this turn is stopped\./.test(questionOf(message));
}

function questionOf(message: Message | undefined): string {
  if (message?.role !== 'user') return '';
  return message.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function callsOf(messages: readonly Message[]): DemoCall[] {
  const results = new Map<string, ToolResultOutput>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    for (const part of message.content) if (part.type === 'tool-result') results.set(part.toolCallId, part.output);
  }
  return messages
    .filter(message => message.role === 'assistant')
    .flatMap((message, round) =>
      message.content.flatMap(part => {
        if (part.type !== 'tool-call') return [];
        const output = results.get(part.toolCallId);
        const given = output === undefined ? { text: 'no result', isError: true } : textOf(output);
        return [{ toolName: part.toolName, input: inputOf(part.input), round, ...given }];
      }),
    );
}

function inputOf(input: unknown): Record<string, unknown> {
  return typeof input === 'object' && input !== null ? { ...input } : {};
}

function textOf(output: ToolResultOutput): { text: string; isError: boolean } {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { text: output.value, isError: output.type === 'error-text' };
    case 'json':
    case 'error-json': {
      const text = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
      return { text, isError: output.type === 'error-json' };
    }
    case 'execution-denied':
      return { text: output.reason ?? 'permission denied', isError: true };
    case 'content': {
      const texts = output.value.flatMap(part => (part.type === 'text' ? [part.text] : []));
      return { text: texts.join('\n'), isError: texts[0] === 'The call failed:' };
    }
  }
}

/** What `list_files` showed. */
export interface Listing {
  /** The paths that were shown whole. */
  readonly paths: readonly string[];
  /** How many files there are, as far as the tool said so. */
  readonly total: number | undefined;
}

/** The listing of this turn, if there is one. */
export function listingOf(work: DemoWork): Listing | undefined {
  const call = succeeded(work, 'list_files').at(-1);
  if (call === undefined) return undefined;
  const lines = call.text.split('\n');
  const total = lines.map(line => /^\[(?:the first [\d,]+ of )?(no|[\d,]+) files?\b/.exec(line)?.[1]).find(Boolean);
  const paths = lines.filter((line, at) => isWholePath(line) && !isCut(lines[at - 1]) && !isCut(lines[at + 1]));
  return {
    paths: paths.map(path => path.replace(/ \(symbolic link\)$/, '')),
    total: total === undefined ? undefined : total === 'no' ? 0 : count(total),
  };
}

function isWholePath(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('[') && !line.startsWith('"');
}

/** The line that stands for what a result over the size limit left out; the lines beside it may be halves. */
function isCut(line: string | undefined): boolean {
  return line?.startsWith('[...') === true;
}

/** A file, or a part of one, that was read. */
export interface FileRead {
  readonly path: string;
  readonly round: number;
  readonly lines: readonly string[];
  /** The number of the first line that was shown. */
  readonly first: number;
  /** How many lines the file has, as far as the tool said so. */
  readonly total: number | undefined;
  /** The text is that of the whole file. */
  readonly isWhole: boolean;
}

/** What was read in this turn. */
export function readsOf(work: DemoWork): FileRead[] {
  return succeeded(work, 'read_file').map(readOf);
}

const READ_HEADER =
  /^(?<path>.*) \((?:(?<empty>empty)|(?<all>[\d,]+) lines?|lines (?<from>\d+)-\d+ of (?<more>more than )?(?<total>[\d,]+))(?:, CR LF line ends)?\)$/;

function readOf({ input, round, text }: DemoCall): FileRead {
  const [header = '', ...body] = text.split('\n');
  const groups = READ_HEADER.exec(header)?.groups;
  const asked = typeof input.path === 'string' ? input.path : 'a file';
  // A tool of that name that answers in another way: all of it is text, and nothing more is known.
  if (groups === undefined) {
    return { path: asked, round, lines: text.split('\n'), first: 1, total: undefined, isWhole: false };
  }
  const hasGap = body.some(isCut);
  const isNote = /^\[(?:read on with|lines longer than|\ufffd)/.test(body.at(-1) ?? '');
  const lines = isNote ? body.slice(0, -1) : body;
  const { path = asked, empty, all, from, more, total } = groups;
  const known = empty === undefined ? (all ?? (more === undefined ? total : undefined)) : '0';
  return {
    path,
    round,
    lines: hasGap ? lines.slice(0, lines.findIndex(isCut)) : lines,
    first: from === undefined ? 1 : Number(from),
    total: known === undefined ? undefined : count(known),
    isWhole: all !== undefined && !hasGap && !isNote,
  };
}

/** What a search found. */
export interface Search {
  readonly query: string;
  readonly round: number;
  readonly hits: readonly SearchHit[];
  /** What the tool said about the whole search, if it did. */
  readonly summary: string | undefined;
}

/** A line that a search found. */
export interface SearchHit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** What was searched for in this turn. */
export function searchesOf(work: DemoWork): Search[] {
  return succeeded(work, 'search_text').map(({ input, round, text }) => {
    const lines = text.split('\n');
    const hits = lines.flatMap((line, at): SearchHit[] => {
      const found = /^(?<path>.+?):(?<line>\d+): ?(?<text>.*)$/.exec(line)?.groups;
      if (found === undefined || isCut(lines[at - 1]) || isCut(lines[at + 1])) return [];
      return [{ path: found.path ?? '', line: Number(found.line), text: found.text ?? '' }];
    });
    const summary = lines.map(line => /^\[((?:no|[\d,]+) match.*)\]$/.exec(line)?.[1]).find(Boolean);
    return { query: String(input.query ?? ''), round, hits, summary };
  });
}

function succeeded({ calls }: DemoWork, toolName: string): DemoCall[] {
  return calls.filter(call => call.toolName === toolName && !call.isError);
}

function count(text: string): number {
  return Number(text.replaceAll(',', ''));
}
