/** The documents do what they say: each `ts` block of them runs, as a module of its own, on the built package. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT } from '../support/postgres-binaries.ts';
import { HAS_RESTATE, RESTATE_LEFT_OUT } from '../support/restate-server.ts';
import { blocksIn, type CodeBlock, ROOT } from './blocks.ts';
import { PREPARATIONS } from './preparations.ts';
import type { BlockToRun } from './run-blocks.ts';

const ON_POSTGRES = [
  'docs/engines.md: On PostgreSQL alone: pg-boss',
  'docs/postgres.md: Permissions and migration',
  'docs/postgres.md: Sessions in PostgreSQL',
];
const ON_RESTATE = ['docs/engines.md: On Restate'];

/** What stands for an address in a document: the reader's own servers are servers of the test. Ports are any that are free. */
const ADDRESSES: readonly (readonly [address: RegExp, here: string])[] = [
  [/\bport: \d+/g, 'port: 0'],
  [/'postgres:[^']*'/g, 'globalThis.postgresUrl'],
  [/'http:\/\/127\.0\.0\.1:8080'/g, 'globalThis.restateIngress'],
  [/'http:\/\/127\.0\.0\.1:9070'/g, 'globalThis.restateAdmin'],
];

/** Blocks that cannot run here, and why. They are compiled like all others. */
const COMPILED_ALONE: Readonly<Record<string, string>> = {
  'docs/writing-an-engine.md: The tests':
    'it kills processes for minutes, over a lab that is the reader’s own; test/engines runs it for every engine',
  ...(HAS_POSTGRES ? {} : Object.fromEntries(ON_POSTGRES.map(place => [place, POSTGRES_LEFT_OUT]))),
  ...(HAS_RESTATE ? {} : Object.fromEntries(ON_RESTATE.map(place => [place, RESTATE_LEFT_OUT]))),
};

/** What a block prints, where it says so or where that shows what it did. */
const PRINTS: Readonly<Record<string, string>> = {
  'README.md: looprig': 'There are 4 lamps and 5 chairs. (1 iteration, 2 calls)',
  'docs/ai-sdk.md: A page with useChat': 'true\n204',
  'docs/ai-sdk.md: In a page': '2',
  'docs/approvals.md: Gates': 'fetch_page news.example.com [',
  'docs/approvals.md: Answers': 'write_file src/a.ts',
  'docs/delegates.md: Delegates': 'There is nothing new.',
  'docs/engines.md: Hosts, engines, workers': 'There is nothing new.',
  'docs/events.md: Readers': 'search done',
  'docs/limits.md: At a limit': 'calls 2 1',
  'docs/models.md: Replay': 'Hello. 1',
  'docs/postgres.md: Permissions and migration': 'from format 0 to ',
  'docs/recovery.md: When the process ends': 'turnId:',
  'docs/server.md: Begin': 'http://127.0.0.1:',
  'docs/server.md: Other runtimes': '200',
  'docs/sessions.md: Sessions and turns': 'There is nothing new.',
  'docs/structured-output.md: Structured output': '4.0 It is short and clear.',
  'docs/studio.md: Studio': 'http://127.0.0.1:',
  'docs/telemetry.md: Telemetry (2)': "name: 'invoke_agent agent'",
  'docs/testing.md: Time': 'It did not answer. 3600000',
  'docs/writing-an-engine.md: Writing an engine': 'a run ended: done',
};

/** Of a page with `useChat`: the request that sends what its user said. */
const SAYS = `new Request('http://page/', {
  method: 'POST',
  body: JSON.stringify({ id: session.id, messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] }),
})`;

/** Functions that a block makes are called, in its own module. */
const CALLS: Readonly<Record<string, string>> = {
  'docs/ai-sdk.md: A page with useChat': `
    console.log((await (await POST(${SAYS})).text()).includes('"nothing new about lamps"'));
    console.log((await GET()).status);`,
  'docs/ai-sdk.md: In a page': 'console.log((await load().json()).messages.length)',
  'docs/server.md: Other runtimes': `
    console.log((await server.fetch(new Request('https://agent.example.com/healthz'))).status)`,
};

/** What the blocks of a document say on standard error, all together. Default: nothing. */
const WARNS: Readonly<Record<string, string>> = {
  'docs/errors.md': 'unknown_gate\n',
  'docs/sessions.md': `[ { index: 1, change: 'answered the call "1" of "weather"' } ]\n`,
};

const blocks = blocksIn('ts');
const isTest = ({ code }: CodeBlock): boolean => /from 'vitest'/.test(code);
const toRun = blocks.filter(({ place }) => !(place in COMPILED_ALONE));

mkdirSync(join(ROOT, 'temp'), { recursive: true });
const folder = mkdtempSync(join(ROOT, 'temp/documents-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The module of a block. What it declares at its top is handed to whoever runs it. */
function moduleOf({ document, line, place, code }: CodeBlock): string {
  const file = join(folder, `${document.replace(/\W/g, '-')}-line-${line}.ts`);
  const names = [...code.matchAll(/^const (\w+) =/gm)].map(([, name]) => name);
  const ending = `${CALLS[place] ?? ''}\nexport {};\nglobalThis.opened?.push(${names.join(', ')});\n`;
  const here = ADDRESSES.reduce((text, [address, value]) => text.replaceAll(address, value), code);
  writeFileSync(file, here + ending);
  return file;
}

interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the blocks of one document in one process, with files that they read beside them. */
function runAll(document: string, its: readonly CodeBlock[]): Promise<Ended> {
  const cwd = mkdtempSync(join(folder, 'cwd-'));
  const list: BlockToRun[] = its.map(block => ({ place: block.place, file: moduleOf(block) }));
  writeFileSync(join(cwd, 'blocks.json'), JSON.stringify(list));
  const program = join(import.meta.dirname, 'run-blocks.ts');
  const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' };
  return new Promise(resolve => {
    execFile(process.execPath, [program, 'blocks.json'], { cwd, env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? `${document} was stopped`), stdout, stderr });
    });
  });
}

describe('every code block of the documents', () => {
  const programs = toRun.filter(block => !isTest(block));
  const documents = [...new Set(programs.map(({ document }) => document))];

  it.concurrent.each(documents)('of %s runs, and leaves nothing behind', { timeout: 150_000 }, async document => {
    if (!existsSync(join(ROOT, 'dist/index.js')))
      throw new Error('the package is not built: run `npm run build` first');
    const its = programs.filter(block => block.document === document);
    const { code, stdout, stderr } = await runAll(document, its);
    expect({ code, stderr }).toEqual({ code: 0, stderr: WARNS[document] ?? '' });
    const printed = new Map(stdout.split('\n--- ').map(part => [part.split('\n', 1)[0], part]));
    for (const { place } of its) expect(printed.get(place)).toContain(PRINTS[place] ?? '');
  });

  for (const block of toRun.filter(isTest)) {
    describe(`${block.place}: its tests`, async () => void (await import(moduleOf(block))));
  }
});

describe('the lists', () => {
  it('name blocks that are there', () => {
    const places = blocks.map(({ place }) => place);
    const named = [COMPILED_ALONE, PRINTS, CALLS, PREPARATIONS].flatMap(list => Object.keys(list));
    expect(named.filter(place => !places.includes(place))).toEqual([]);
  });
});
