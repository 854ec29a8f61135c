/**
 * What the demo model says at the end. Every figure and every quoted word is from a tool result of this turn; what no tool
 * showed is not said.
 */
import {
  type DemoWork,
  type FileRead,
  type Listing,
  listingOf,
  readsOf,
  type Search,
  type SearchHit,
  searchesOf,
} from './demo-work.ts';

const MOST_KINDS = 6;
const MOST_NAMES = 8;
const MOST_HITS = 4;
const LONGEST_QUOTE = 100;

/** The answer of a turn, in Markdown. */
export function demoAnswer(work: DemoWork): string {
  const sections = [
    OPENING,
    ...listingSection(listingOf(work)),
    ...readingSection(readsOf(work)),
    ...searchSection(searchesOf(work)),
    ...problemSection(work),
  ];
  if (sections.length === 1) sections.push(NOTHING_SEEN);
  if (work.mustFinish) sections.push('I was told to come to an end, so this is what I had by then.');
  return sections.join('\n\n');
}

const OPENING =
  "I am looprig's offline demo model: I follow fixed rules and understand nothing. This is what the tools really showed me.";

const NOTHING_SEEN =
  'I have seen nothing: I work with the tools list_files, read_file and search_text, and none of them has been used in this turn.';

function listingSection(listing: Listing | undefined): string[] {
  if (listing === undefined) return [];
  const { paths, total } = listing;
  if (paths.length === 0) return ['**Files.** There are no files here.'];
  const shown = counted(paths.length, 'file');
  const isAll = total === undefined || total === paths.length;
  const start = isAll
    ? `I listed ${shown}`
    : `There are ${counted(total, 'file')}, of which ${paths.length} were listed`;
  return [`**Files.** ${start}: ${kindsOf(paths)}.`];
}

function kindsOf(paths: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const kind = /[^/.](\.[A-Za-z0-9]+)$/.exec(path)?.[1] ?? 'without an ending';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1));
  const rest = sorted.slice(MOST_KINDS).reduce((sum, [, count]) => sum + count, 0);
  const named = sorted.slice(0, MOST_KINDS).map(([kind, count]) => `${count} ${kind}`);
  return joined(rest === 0 ? named : [...named, counted(rest, 'other')]);
}

function readingSection(reads: readonly FileRead[]): string[] {
  if (reads.length === 0) return [];
  return [`**Read.**\n${reads.map(read => `- ${sizeOf(read)}${contentsOf(read)}`).join('\n')}`];
}

function sizeOf({ path, lines, first, total, isWhole }: FileRead): string {
  const name = `\`${path}\``;
  if (total === 0) return `${name} is empty`;
  if (total === undefined) return `${name}, ${counted(lines.length, 'line')} of it`;
  if (isWhole) return `${name}, ${counted(total, 'line')}`;
  return `${name}, ${counted(total, 'line')}, of which I read ${first}–${first + lines.length - 1}`;
}

function contentsOf(read: FileRead): string {
  const facts = /(?:^|\/)package\.json$/.test(read.path) && read.isWhole ? manifestFacts(read) : textFacts(read);
  return facts.length === 0 ? '' : `: ${facts.join('; ')}`;
}

/** What a package says about itself. Text that is no JSON is told about as any other text. */
function manifestFacts(read: FileRead): string[] {
  let manifest: unknown;
  try {
    manifest = JSON.parse(read.lines.join('\n'));
  } catch {
    return textFacts(read);
  }
  if (typeof manifest !== 'object' || manifest === null) return [];
  const field = (name: string): unknown => Reflect.get(manifest, name);
  const facts: string[] = [];
  if (typeof field('name') === 'string') {
    const version = typeof field('version') === 'string' ? ` ${field('version')}` : '';
    facts.push(`package **${field('name')}**${version}`);
  }
  if (typeof field('description') === 'string') facts.push(quoted(String(field('description'))));
  facts.push(...namesIn('scripts', field('scripts')));
  facts.push(...namesIn('dependencies', field('dependencies')));
  facts.push(...namesIn('development dependencies', field('devDependencies')));
  return facts;
}

function namesIn(what: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const names = Object.keys(value);
  return names.length === 0 ? [] : [`${names.length} ${names.length === 1 ? singular(what) : what}: ${some(names)}`];
}

function singular(what: string): string {
  return what.endsWith('ies') ? `${what.slice(0, -3)}y` : what.slice(0, -1);
}

/** What can be told about a text without understanding it: its headings, the names that it exports, or how it begins. */
function textFacts({ path, lines, first }: FileRead): string[] {
  if (/\.(?:md|markdown)$/i.test(path)) {
    const [title, ...headings] = headingsOf(lines);
    if (title !== undefined) {
      const others = headings.length === 0 ? [] : [`${counted(headings.length, 'more heading')}: ${some(headings)}`];
      return [first === 1 ? `title ${quoted(title)}` : `heading ${quoted(title)}`, ...others];
    }
  }
  const exported = lines.flatMap(line => EXPORT.exec(line)?.[1] ?? []);
  if (exported.length > 0) return [`exports ${some(exported.map(name => `\`${name}\``))}`];
  const beginning = lines.find(line => /[\p{L}\p{N}]/u.test(line));
  return beginning === undefined ? [] : [`${first === 1 ? 'begins with' : 'there'} ${quoted(beginning)}`];
}

const EXPORT =
  /^export (?:declare )?(?:default )?(?:abstract )?(?:async )?(?:const|let|class|interface|type|enum|function\*?) +([\w$]+)/;

/** The headings of a Markdown text; a `#` in a block of code is none. */
function headingsOf(lines: readonly string[]): string[] {
  const headings: string[] = [];
  let isCode = false;
  for (const line of lines) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    const heading = isCode ? undefined : /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading) headings.push(heading);
  }
  return headings;
}

function searchSection(searches: readonly Search[]): string[] {
  if (searches.length === 0) return [];
  return [`**Searched.**\n${searches.map(search => `- ${foundIn(search)}`).join('\n')}`];
}

function foundIn({ query, hits, summary }: Search): string {
  const said = summary === undefined ? counted(hits.length, 'line') : summary.split(';')[0];
  if (hits.length === 0) return `“${query}”: ${summary === undefined ? 'nothing found' : said}`;
  const places = hits.slice(0, MOST_HITS).map(hit => `\n  - ${placeOf(hit)}`);
  return `“${query}”: ${said}${hits.length > MOST_HITS ? `, the first ${MOST_HITS}` : ''}${places.join('')}`;
}

function placeOf({ path, line, text }: SearchHit): string {
  return `\`${path}:${line}\` ${quoted(text)}`;
}

function problemSection({ calls }: DemoWork): string[] {
  const failed = calls.filter(call => call.isError);
  if (failed.length === 0) return [];
  const lines = failed.map(({ toolName, input, text }) => {
    const subject = [input.path, input.query].find(value => typeof value === 'string');
    return `- ${toolName}${subject === undefined ? '' : ` ${subject}`}: ${shortened(text)}`;
  });
  return [`**Not done.**\n${lines.join('\n')}`];
}

function quoted(text: string): string {
  return `“${shortened(text)}”`;
}

function shortened(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > LONGEST_QUOTE ? `${flat.slice(0, LONGEST_QUOTE - 1).toWellFormed()}…` : flat;
}

/** The first few of a list, and how many more there are. */
function some(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
