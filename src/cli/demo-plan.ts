/** What the demo model does next, by rule: list, read, search, read around what was found, answer. */
import { type DemoWork, listingOf, readsOf, type SearchHit, searchesOf } from './demo-work.ts';

/** A call that the demo model asks for. */
interface PlannedCall {
  readonly toolName: DemoTool;
  readonly input: Readonly<Record<string, string | number | boolean>>;
}

/** The next step: calls, and why, in one sentence; or the answer. */
export type DemoStep =
  | { readonly kind: 'calls'; readonly thought: string; readonly calls: readonly PlannedCall[] }
  | { readonly kind: 'answer' };

/** The tools that the demo model knows how to use. */
export const DEMO_TOOLS = ['list_files', 'read_file', 'search_text'] as const;
type DemoTool = (typeof DEMO_TOOLS)[number];

const MOST_LISTED = 500;
const MOST_READ = 6;
const LINES_READ = 200;
const MOST_WORDS = 3;
const MOST_HITS_SHOWN = 20;
const MOST_READ_AROUND = 3;
const LINES_AROUND = 10;

/** Decides the next step from what the turn has seen, with the tools that are offered. */
export function nextStep(work: DemoWork, offered: ReadonlySet<string>): DemoStep {
  if (work.mustFinish) return { kind: 'answer' };
  const steps = [planListing, planReading, planSearching, planReadingAround];
  for (const plan of steps) {
    const step = plan(work, offered);
    if (step !== undefined) return step;
  }
  return { kind: 'answer' };
}

type Planner = (work: DemoWork, offered: ReadonlySet<string>) => DemoStep | undefined;

const planListing: Planner = (work, offered) => {
  if (!offered.has('list_files') || wasCalled(work, 'list_files')) return undefined;
  const call: PlannedCall = { toolName: 'list_files', input: { limit: MOST_LISTED } };
  return { kind: 'calls', thought: 'First I list the files, to see what there is.', calls: [call] };
};

const planReading: Planner = (work, offered) => {
  if (!offered.has('read_file') || wasCalled(work, 'read_file')) return undefined;
  const paths = pickFiles(listingOf(work)?.paths ?? GUESSED_FILES, work.question);
  if (paths.length === 0) return undefined;
  const thought =
    paths.length === 1 ? `I read ${paths[0]}.` : `I read ${paths.length} files side by side: ${paths.join(', ')}.`;
  const calls = paths.map((path): PlannedCall => ({ toolName: 'read_file', input: { path, end_line: LINES_READ } }));
  return { kind: 'calls', thought, calls };
};

const planSearching: Planner = (work, offered) => {
  if (!offered.has('search_text') || wasCalled(work, 'search_text')) return undefined;
  const words = questionWords(work.question).slice(0, MOST_WORDS);
  if (words.length === 0 || listingOf(work)?.paths.length === 0) return undefined;
  const calls = words.map(
    (query): PlannedCall => ({ toolName: 'search_text', input: { query, ignore_case: true, limit: MOST_HITS_SHOWN } }),
  );
  return { kind: 'calls', thought: `I search the files for ${words.map(word => `“${word}”`).join(', ')}.`, calls };
};

const planReadingAround: Planner = (work, offered) => {
  const searches = searchesOf(work);
  if (!offered.has('read_file') || searches.length === 0) return undefined;
  const searchRound = Math.max(...searches.map(search => search.round));
  if (work.calls.some(call => call.toolName === 'read_file' && call.round > searchRound)) return undefined;
  const hits = hitsToRead(work);
  if (hits.length === 0) return undefined;
  const places = hits.map(({ path, line }) => `${path}:${line}`).join(', ');
  const calls = hits.map(
    ({ path, line }): PlannedCall => ({
      toolName: 'read_file',
      input: { path, start_line: Math.max(1, line - LINES_AROUND), end_line: line + LINES_AROUND },
    }),
  );
  return { kind: 'calls', thought: `I read around what was found: ${places}.`, calls };
};

/** The first hit of each file that was not read there, a file at a time for each word. */
function hitsToRead(work: DemoWork): SearchHit[] {
  const reads = readsOf(work);
  const chosen = new Map<string, SearchHit>();
  const wasRead = ({ path, line }: SearchHit): boolean =>
    reads.some(read => read.path === path && line >= read.first && line < read.first + read.lines.length);
  for (const { hits } of searchesOf(work)) {
    const hit = hits.find(candidate => !chosen.has(candidate.path) && !wasRead(candidate));
    if (hit !== undefined) chosen.set(hit.path, hit);
  }
  return [...chosen.values()].slice(0, MOST_READ_AROUND);
}

function wasCalled({ calls }: DemoWork, toolName: DemoTool): boolean {
  return calls.some(call => call.toolName === toolName);
}

/** Read where nothing can be listed: if they are not there, the tool says so. */
const GUESSED_FILES = ['README.md', 'package.json'];

/** The files that matter most for a question, the most important first. */
function pickFiles(paths: readonly string[], question: string): string[] {
  const words = questionWords(question).map(word => word.toLowerCase());
  return paths
    .map(path => ({ path, weight: weightOf(path, words) + (question.includes(path) ? 40 : 0) }))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .slice(0, MOST_READ)
    .map(({ path }) => path);
}

const UNREADABLE =
  /\.(?:png|jpe?g|gif|webp|ico|pdf|zip|gz|tgz|woff2?|ttf|mp[34]|wasm|exe|so|dylib|class|sqlite|db|map)$/;
const GENERATED = /(?:^|\/)(?:package-lock\.json|[^/]*\.lock|pnpm-lock\.yaml|[^/]*\.min\.\w+|dist\/.*|build\/.*)$/;
const MANIFEST =
  /(?:^|\/)(?:package\.json|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml|Gemfile|composer\.json|deno\.json)$/;
const ENTRY = /(?:^|\/)(?:index|main|app|cli|server|mod|lib|__init__)\.\w+$/i;
const SOURCE = /\.(?:[cm]?[jt]sx?|py|rs|go|java|kt|rb|php|cs?|cpp|h|swift|sh|sql|html|css)$/;

/** How much a file matters, by its name alone; 0 for what is not worth reading. */
function weightOf(path: string, words: readonly string[]): number {
  const name = path.toLowerCase();
  if (UNREADABLE.test(name) || GENERATED.test(path)) return 0;
  const depth = path.split('/').length - 1;
  const isTest = /(?:^|\/)tests?\/|[._]test\.|\.spec\./.test(name);
  let weight = words.filter(word => name.includes(word)).length * 12;
  if (/(?:^|\/)readme(?:\.\w+)?$/.test(name)) weight += 20;
  else if (MANIFEST.test(path)) weight += 18;
  else if (ENTRY.test(path)) weight += 10;
  else if (/\.(?:md|txt|rst)$/.test(name)) weight += 5;
  else if (SOURCE.test(name)) weight += 4;
  else weight += 1;
  return Math.max(0.1, weight - depth * 2 - (isTest ? 6 : 0));
}

const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'about above after all also and any are around because been before between but can code could describe did does done ' +
    'each every explain file files find folder for from give had has have help here how into its just know let like list look ' +
    'make many may me mean more most much must need not now off one only other our out over please print project read repo repository ' +
    'say see should show some source structure such sum summarise summarize summary tell than that the their them then there these they ' +
    'thing things this those through under use used uses using very want was way were what when where which while who whole why ' +
    'will with without word words work works workspace would write you your'
  ).split(' '),
);

/** The words of a question that are worth looking for, those that look like names in code first. */
export function questionWords(question: string): string[] {
  const found = question.match(/[\p{L}_$][\p{L}\p{N}_$]*(?:[./-][\p{L}\p{N}_$]+)*/gu) ?? [];
  const words = found.filter(word => word.length >= 3 && word.length <= 60 && !COMMON_WORDS.has(word.toLowerCase()));
  const unique = words.filter(
    (word, at) => words.findIndex(other => other.toLowerCase() === word.toLowerCase()) === at,
  );
  const isName = (word: string): boolean => /[_$./]|\p{Ll}\p{Lu}/u.test(word);
  return [...unique.filter(isName), ...unique.filter(word => !isName(word))];
}
