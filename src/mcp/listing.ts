/** The tools that a server lists, read with suspicion: pages without an end, names twice, what is no tool. */
import type { JsonSchema, Validation } from '../define/schema.ts';
import { isList, show } from '../show.ts';
import { McpError } from './errors.ts';
import type { McpNotice, ResolvedMcpServer } from './options.ts';
import { outputCheck, usableSchema } from './schema.ts';
import { cutTo, oneLine, plainText } from './text.ts';

/** A tool as a server lists it, fit for use. */
export interface ListedTool {
  /** As the server has it. */
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  validate(value: unknown): Validation | Promise<Validation>;
  /** What does not fit in structured content; `undefined` for a tool that promises none. */
  readonly checkOutput: ((value: unknown) => Promise<string | undefined>) | undefined;
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
  readonly isDestructive: boolean;
}

/** The tools by their names, and what is to be said about the others. */
export interface Listing {
  readonly tools: ReadonlyMap<string, ListedTool>;
  /** The names of all that is listed, chosen or not. */
  readonly names: ReadonlySet<string>;
  readonly notices: readonly Omit<McpNotice, 'server'>[];
}

/** Asks for one page of the list. */
type PageSource = (cursor: string | undefined) => Promise<unknown>;

const MOST_PAGES = 100;

/** More than anybody wants to read, whatever is left of them in the end. */
const MOST_ENTRIES = 10_000;
const LONGEST_DESCRIPTION = 8_192;
const LONGEST_NAME = 1_024;

/** Reads the whole list. Throws `McpError`: `not_listed`, `unusable_tools`. */
export async function readListing(page: PageSource, server: ResolvedMcpServer): Promise<Listing> {
  const { entries, notices } = await allPages(page, server);
  const tools = new Map<string, ListedTool>();
  const names = new Set<string>();
  for (const entry of entries) {
    const name: unknown = Reflect.get(Object(entry), 'name');
    if (typeof name !== 'string' || name.trim() === '' || name.length > LONGEST_NAME) {
      notices.push({ kind: 'tool_skipped', message: `a tool is left out: its name is ${show(name)}` });
      continue;
    }
    names.add(name);
    if (!isChosen(name, server)) continue;
    if (tools.has(name)) {
      const message = `the tool ${show(name)} is listed more than once: the first is taken`;
      notices.push({ kind: 'tool_skipped', tool: name, message });
    } else {
      tools.set(name, toolFrom(name, entry as object, notices));
    }
  }
  if (tools.size > server.maxTools) {
    const message = `MCP server "${server.name}" lists ${tools.size} tools, more than ${server.maxTools}: choose some with "include", or raise "maxTools"`;
    throw new McpError('unusable_tools', server.name, message);
  }
  return { tools, names, notices };
}

function isChosen(name: string, { include, exclude }: ResolvedMcpServer): boolean {
  return (include === undefined || include.includes(name)) && !exclude.includes(name);
}

async function allPages(
  page: PageSource,
  { name: server }: ResolvedMcpServer,
): Promise<{ readonly entries: unknown[]; readonly notices: Omit<McpNotice, 'server'>[] }> {
  const entries: unknown[] = [];
  const notices: Omit<McpNotice, 'server'>[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const result = await page(cursor);
    const tools: unknown = Reflect.get(Object(result), 'tools');
    if (!isList(tools)) throw new McpError('not_listed', server, `MCP server "${server}" gave no list of tools`);
    for (const tool of tools) entries.push(tool);
    if (entries.length > MOST_ENTRIES) throw endless(server, `more than ${MOST_ENTRIES} tools`);
    const next: unknown = Reflect.get(Object(result), 'nextCursor');
    if (typeof next !== 'string') return { entries, notices };
    if (seen.has(next)) {
      const message = 'the list of tools comes back to a page that was read: what was read until then is taken';
      notices.push({ kind: 'listing_failed', message });
      return { entries, notices };
    }
    seen.add(next);
    cursor = next;
  }
  throw endless(server, `more than ${MOST_PAGES} pages of tools`);
}

function endless(server: string, what: string): McpError {
  return new McpError('not_listed', server, `MCP server "${server}" lists ${what}: it was not read to its end`);
}

function toolFrom(name: string, entry: object, notices: Omit<McpNotice, 'server'>[]): ListedTool {
  const { told, aside, validate, leftOut } = usableSchema(Reflect.get(entry, 'inputSchema'));
  if (leftOut !== undefined) {
    const message = `of the schema of the tool ${show(name)} something is left out: ${leftOut}`;
    notices.push({ kind: 'schema_simplified', tool: name, message });
  }
  const annotations = Object(Reflect.get(entry, 'annotations'));
  const hint = (key: string): boolean => Reflect.get(annotations, key) === true;
  return {
    ...{ name, input: told, validate },
    description: described(entry, annotations, aside),
    checkOutput: outputCheck(Reflect.get(entry, 'outputSchema')),
    isReadOnly: hint('readOnlyHint'),
    isIdempotent: hint('idempotentHint'),
    isDestructive: hint('destructiveHint'),
  };
}

/** What the tool does, for the model: a tool without a description has at least its title or its name. */
function described(entry: object, annotations: object, aside: string): string {
  const texts = [Reflect.get(entry, 'description'), Reflect.get(entry, 'title'), Reflect.get(annotations, 'title')];
  const said = texts.find(text => typeof text === 'string' && text.trim() !== '');
  const text = typeof said === 'string' ? said : oneLine(String(Reflect.get(entry, 'name')), 200);
  const description = cutTo(plainText(text.slice(0, LONGEST_DESCRIPTION * 2)).trim(), LONGEST_DESCRIPTION);
  return aside === '' ? description : `${description}\n${aside}`;
}
