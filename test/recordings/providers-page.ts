/** The tables of the page that says which providers were shown to work, from what the test run showed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Recording } from 'looprig/testing';
import type { Entry, Playing } from './expected.ts';
import { GENERATIONS, type Generation, installedVersion, PROVIDERS } from './packages.ts';

/** How far a recording came to what it should, with one generation of the packages. */
export type Verdict = 'yes' | 'in part' | 'no';

/** What the run showed of one recording. */
export interface Shown {
  readonly recording: Recording;
  readonly entry: Entry;
  readonly verdicts: Readonly<Record<Generation, Verdict>>;
}

const FILE = join(import.meta.dirname, '../../docs/providers.md');
const BEGIN = '<!-- The test run writes what follows: UPDATE_DOCS=1 npx vitest run test/recordings -->\n';

/** The page as it is. */
export function readPage(): string {
  return readFileSync(FILE, 'utf8');
}

/** The page with the tables that the run gives it; its prose is kept. */
export function pageWith(shown: readonly Shown[]): string {
  const [prose = ''] = readPage().split(BEGIN);
  return `${prose}${BEGIN}\n${[packages(shown), exchanges(shown), remarks(shown)].join('\n\n')}\n`;
}

/** Writes the page. */
export function writePage(text: string): void {
  writeFileSync(FILE, text);
}

function packages(shown: readonly Shown[]): string {
  const rows = PROVIDERS.map(provider => {
    const own = shown.filter(({ recording }) => recording.provider === provider);
    const cells = GENERATIONS.map(generation => {
      const whole = own.filter(({ verdicts }) => verdicts[generation] === 'yes').length;
      return `${installedVersion(provider, generation)}: ${whole} of ${own.length}`;
    });
    return row([`\`@ai-sdk/${provider}\``, ...cells]);
  });
  const head = ['package', ...GENERATIONS.map(generation => `AI SDK ${generation}`)];
  return `## Packages\n\nThe version, and how many of its exchanges end as they should.\n\n${table(head, rows)}`;
}

function exchanges(shown: readonly Shown[]): string {
  const rows = shown.map(({ recording: { name, model }, entry, verdicts }) =>
    row([`\`${name}\``, model, entry.shows, ...GENERATIONS.map(generation => verdicts[generation])]),
  );
  return `## Exchanges\n\n${table(['exchange', 'model', 'what it has', ...GENERATIONS.map(String)], rows)}`;
}

/** Each reason once a playing, with the generations that it is of. */
function remarks(shown: readonly Shown[]): string {
  const lines = shown.flatMap(({ recording, entry }) =>
    entry.plays.flatMap(playing => {
      const title = playing.title === undefined ? '' : ` ${playing.title}`;
      return reasons(playing).map(([why, of]) => `* \`${recording.name}\`${title}, AI SDK ${of.join(', ')}: ${why}.`);
    }),
  );
  return `## What falls short\n\n${lines.join('\n')}`;
}

function reasons({ differences = {} }: Playing): [why: string, of: Generation[]][] {
  const found = new Map<string, Generation[]>();
  for (const generation of GENERATIONS) {
    const why = differences[generation]?.why;
    if (why !== undefined) found.set(why, [...(found.get(why) ?? []), generation]);
  }
  return [...found];
}

function table(head: readonly string[], rows: readonly string[]): string {
  return [row(head), row(head.map(() => '---')), ...rows].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
