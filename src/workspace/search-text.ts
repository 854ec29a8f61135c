import type { Workspace } from '../define/bindings.ts';
import { defineTool, type ToolDefinition } from '../define/tool.ts';
import { isBinary, openFile } from './files.ts';
import { compileGlob, type PathMatcher } from './glob.ts';
import { type LineSearch, literalSearch, patternSearch } from './line-search.ts';
import { type Line, readLines } from './lines.ts';
import { leftOut } from './list-files.ts';
import { counted, shownPath } from './text.ts';
import { emptyReport, type WalkReport, walk } from './walk.ts';

const DEFAULT_LIMIT = 50;

/** A line is searched to here. */
const LONGEST_LINE = 10_000;

/** Of a line so much is shown, around the match. */
const SHOWN_LENGTH = 200;
const SHOWN_BEFORE = 60;

/** A search ends after this time with what it has. */
const SEARCH_MS = 15_000;

/** `search_text`: the lines of the workspace's text files that hold a text, or fit a regular expression. */
export const searchText: ToolDefinition = defineTool({
  name: 'search_text',
  description:
    'Searches the text files of the workspace, or of a folder or file in it, line by line. Gives "path:line: text", one match per line, ' +
    'sorted by path. The query is a literal text unless regex is true. Binary files, .git, node_modules and what .gitignore names are left out.',
  input: {
    type: 'object',
    properties: {
      query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to look for, within one line.' },
      regex: { type: 'boolean', description: 'Takes the query as a JavaScript regular expression. Default false.' },
      ignore_case: { type: 'boolean', description: 'Takes upper and lower case as the same. Default false.' },
      path: {
        type: 'string',
        minLength: 1,
        maxLength: 4096,
        description: 'The folder or file to search, relative to the workspace. Default ".", the whole workspace.',
      },
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: 1000,
        description: 'A glob that the paths of the files must fit, as in list_files: "*.ts", "src/**/*.md".',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 500,
        description: `The most matches to give; how many more there are is said. Default ${DEFAULT_LIMIT}.`,
      },
      include_ignored: {
        type: 'boolean',
        description: 'Also searches node_modules, .git and what .gitignore names. Default false.',
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  requires: ['workspace'],
  create: ({ workspace }) => ({
    idempotent: true,
    summary: ({ query, path }) => `search ${JSON.stringify(query)}${path === undefined ? '' : ` in ${path}`}`,
    execute(input, { signal }) {
      const {
        query,
        regex = false,
        ignore_case: ignoreCase = false,
        path = '.',
        pattern,
        limit = DEFAULT_LIMIT,
      } = input;
      if (/[\r\n]/.test(query)) throw new Error('the query holds a line break, but lines are searched one by one');
      const search = regex ? patternSearch(query, ignoreCase) : literalSearch(query, ignoreCase);
      const fits = pattern === undefined ? () => true : compileGlob(pattern.replace(/^\.?\//, ''));
      const run = new SearchRun(workspace, {
        search,
        fits,
        limit,
        signal,
        includeIgnored: input.include_ignored === true,
      });
      return run.over(path);
    },
  }),
});

interface SearchOptions {
  readonly search: LineSearch;
  readonly fits: PathMatcher;
  readonly limit: number;
  readonly includeIgnored: boolean;
  readonly signal: AbortSignal;
}

/** One search: what it has found, and what it could not look at. */
class SearchRun {
  readonly #workspace: Workspace;
  readonly #options: SearchOptions;
  readonly #report: WalkReport = emptyReport();
  readonly #endsAt = performance.now() + SEARCH_MS;
  readonly #found: string[] = [];
  #matches = 0;
  #filesWithMatches = 0;
  #searched = 0;
  #binary = 0;
  #unreadable = 0;
  #longLines = 0;
  #isOutOfTime = false;

  constructor(workspace: Workspace, options: SearchOptions) {
    this.#workspace = workspace;
    this.#options = options;
  }

  async over(path: string): Promise<string> {
    const { fits, includeIgnored, signal } = this.#options;
    for await (const entry of walk(this.#workspace, path, { includeIgnored, signal, report: this.#report })) {
      if (entry.isLink || !fits(entry.path)) continue;
      await this.#file(entry.path);
      if (this.#isOutOfTime) break;
    }
    return [...this.#found, ...(this.#matches === 0 ? [] : ['']), this.#note()].join('\n');
  }

  async #file(path: string): Promise<void> {
    const file = await openFile(this.#workspace, path).catch(() => undefined); // gone meanwhile, or not for us
    if (file === undefined) {
      this.#unreadable += 1;
      return;
    }
    try {
      if (await isBinary(file.handle)) this.#binary += 1;
      else await this.#lines(file.handle, path);
    } finally {
      await file.handle.close();
    }
  }

  async #lines(handle: Parameters<typeof readLines>[0], path: string): Promise<void> {
    const matchesBefore = this.#matches;
    let before = 0;
    this.#searched += 1;
    for await (const lines of readLines(handle, { maxLineLength: LONGEST_LINE, signal: this.#options.signal })) {
      this.#take(path, before, lines);
      before += lines.length;
      this.#isOutOfTime = performance.now() > this.#endsAt;
      if (this.#isOutOfTime) break;
    }
    if (this.#matches > matchesBefore) this.#filesWithMatches += 1;
  }

  #take(path: string, before: number, lines: readonly Line[]): void {
    const places = this.#options.search(lines.map(line => line.text));
    lines.forEach((line, index) => {
      if (line.isCut) this.#longLines += 1;
      const place = places[index] ?? -1;
      if (place < 0) return;
      this.#matches += 1;
      if (this.#found.length >= this.#options.limit) return;
      this.#found.push(`${shownPath(path)}:${before + index + 1}: ${around(line.text, place)}`);
    });
  }

  #note(): string {
    const searched = counted(this.#searched, 'file');
    const matches = counted(this.#matches, 'match', 'matches');
    const parts: string[] = [];
    if (this.#matches === 0) parts.push(`no matches in ${searched}`);
    else parts.push(`${matches} in ${counted(this.#filesWithMatches, 'file')} of ${searched} searched`);
    if (this.#matches > this.#found.length)
      parts.push(`the first ${this.#found.length} are shown: narrow the search to see the rest`);
    if (this.#isOutOfTime)
      parts.push(`ended after ${SEARCH_MS / 1_000} s, the rest was not searched: narrow it with path or pattern`);
    if (this.#binary > 0) parts.push(`${counted(this.#binary, 'binary file')} left out`);
    if (this.#unreadable > 0) parts.push(`${counted(this.#unreadable, 'file')} could not be read`);
    if (this.#longLines > 0) {
      const length = LONGEST_LINE.toLocaleString('en-US');
      parts.push(`${counted(this.#longLines, 'line')} longer than ${length} characters searched only to there`);
    }
    return `[${[...parts, ...leftOut(this.#report)].join('; ')}]`;
  }
}

/** The part of a line around a match. */
function around(text: string, place: number): string {
  if (text.length <= SHOWN_LENGTH) return text;
  const from = Math.max(0, Math.min(place - SHOWN_BEFORE, text.length - SHOWN_LENGTH));
  const to = from + SHOWN_LENGTH;
  return `${from > 0 ? '…' : ''}${text.slice(from, to).toWellFormed()}${to < text.length ? '…' : ''}`;
}
