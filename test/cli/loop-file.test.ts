/** `--loop FILE` and `looprig check`: loops of the user's own, and what is said of a file that is wrong. */
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, runProgram } from './program.ts';

let folder: string;

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

/** The names that the configurations of these tests use, from the sources of this checkout. */
const IMPORTS = `
import { defineLoop, defineRig, defineTool, memoryStore } from '${source('index.ts')}';
import { defineConfig } from '${source('config/index.ts')}';
import { sqliteStore } from '${source('journal/sqlite/index.ts')}';
import { forever, scriptedModel } from '${source('testing/index.ts')}';
import { workspaceTools } from '${source('workspace/index.ts')}';
const stock = defineTool({
  name: 'stock',
  description: 'How many pieces of an article are in stock.',
  input: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  requires: ['secrets'],
  create: ({ secrets }) => ({
    access: () => [{ action: 'stock.read', target: 'lamps' }],
    execute: () => 'opened with ' + secrets.get('key'),
  }),
});
const wantsStock = { calls: [{ tool: 'stock', input: { article: 'lamp' } }] };
const script = [forever(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? { text: 'So it is.' } : wantsStock))];
`;

const CLERK = `
const clerk = defineLoop({
  name: 'clerk', model: scriptedModel(script), tools: [stock],
  modes: { quick: { limits: { iterations: 3 } }, slow: {} }, initialMode: 'slow',
});`;

/** Writes a configuration in a folder of its own, and gives the folder. */
async function configured(name: string, text: string, file = 'looprig.config.ts'): Promise<string> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, file), text);
  return join(folder, name);
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'looprig-loop-')));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const json = ({ stdout }: Ended): Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

describe('a loop of the user', () => {
  it('runs with its model, its tools and its secrets, of which none is shown', async () => {
    const shop = await configured(
      'shop',
      `${IMPORTS}${CLERK}
      export default defineConfig({ loops: [clerk], secrets: { key: 'sesame-sesame' },
        gate: { rules: [{ action: 'stock.read', decision: 'allow' }] } });`,
    );
    const { status, stdout, stderr } = await runProgram(['run', 'lamps?', '--loop', shop, '--json']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: 'model: scripted/scripted-model\n' });
    expect(stdout).not.toContain('sesame');
    expect(stdout).toContain('opened with [redacted]');
    expect(json({ stdout } as Ended).at(-1)).toMatchObject({ type: 'result', status: 'done', text: 'So it is.' });
  });

  it('is known to its session: the next turn, and what another process answers, need no --loop', async () => {
    const shop = await configured(
      'waits',
      `${IMPORTS}${CLERK} export default { loops: [clerk], secrets: { key: 'k' } };`,
    );
    const first = await runProgram(['run', 'lamps?', '--loop', shop, '--approve', 'ask', '--json']);
    expect(first.status).toBe(5);
    const answered = await runProgram(['answer', 'last', 'yes'], { cwd: folder });
    expect(answered).toMatchObject({ status: 0, stdout: 'allowed: stock wants stock.read: lamps\n' });
    const resumed = await runProgram(['resume', 'last', '--json'], { cwd: folder });
    expect(resumed.status).toBe(0);
    expect(resumed.stdout).toContain('opened with k');
  });

  it('takes its limits, its mode, its model and its permissions from the command line where they are given', async () => {
    const shop = await configured(
      'given',
      `${IMPORTS}${CLERK} export default { loops: [clerk], secrets: { key: 'k' } };`,
    );
    const run = (...options: string[]): Promise<Ended> =>
      runProgram(['run', 'lamps?', '--no-store', '--json', '--loop', `${shop}/looprig.config.ts`, ...options]);
    const [quick, demo, denied, fast] = await Promise.all([
      run('--mode', 'quick', '--limits', 'calls=7', '--approve', 'all'),
      run('--model', 'demo'),
      run(),
      run('--mode', 'fast'),
    ]);
    expect(json(quick)[0]).toMatchObject({ type: 'turn.started', mode: 'quick', limits: { iterations: 3, calls: 7 } });
    expect(demo.stderr).toMatch(/^model: demo /);
    expect(denied.status).toBe(4);
    expect(fast).toMatchObject({ status: 2, stderr: 'looprig: there is no mode "fast": give base, quick or slow\n' });
  });

  it('may forbid what no permission allows then, which is no want of an answer', async () => {
    const shop = await configured(
      'forbids',
      `${IMPORTS}${CLERK}
      export default { loops: [clerk], secrets: { key: 'k' }, gate: { rules: [{ action: 'stock.read', decision: 'deny' }] } };`,
    );
    for (const options of [[], ['--approve', 'all']]) {
      const { status, stdout, stderr } = await runProgram(['run', 'lamps?', '--no-store', '--loop', shop, ...options]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'So it is.\n' });
      expect(stderr).toContain('a rule forbids stock.read');
      expect(stderr).not.toContain('--approve all');
    }
  });

  it('keeps its sessions in its own store, where they are found with --loop', async () => {
    const shop = await configured(
      'own-store',
      `${IMPORTS}
      const clerk = defineLoop({ name: 'clerk', model: scriptedModel([forever({ text: 'Hello.' })]) });
      export default defineConfig({ loops: [clerk], store: sqliteStore({ file: '${join(folder, 'own.db')}' }) });`,
    );
    const first = await runProgram(['run', 'hi', '--loop', shop]);
    expect(first.stderr).toContain(`to go on: looprig run --session`);
    expect(first.stderr).toContain(` --loop ${shop}/looprig.config.ts "…"`);
    const second = await runProgram(['run', 'hi again', '--session', 'last', '--loop', shop, '--json']);
    expect(second.status).toBe(0);
    const shown = await runProgram(['show', 'last', '--store', join(folder, 'own.db'), '--json']);
    expect(json(shown)[0]).toMatchObject({ type: 'session', loop: 'clerk', turns: 2 });
  });

  it('is one of several by its name, and its workspace is relative to the file', async () => {
    const several = await configured(
      'several',
      `${IMPORTS}
      const model = scriptedModel([{ calls: [{ tool: 'list_files', input: {} }] }, { text: 'Listed.' }]);
      const make = name => defineLoop({ name, model, tools: workspaceTools({ readOnly: true }) });
      export default defineConfig({ loops: [make('one'), make('two')], workspace: 'files' });`,
      'looprig.config.mts',
    );
    await mkdir(join(several, 'files'));
    await writeFile(join(several, 'files', 'only.txt'), '');
    const unnamed = await runProgram(['run', 'hi', '--no-store', '--loop', several]);
    expect(unnamed).toMatchObject({ status: 2, stdout: '' });
    expect(unnamed.stderr).toMatch(/has 2 loops \(one, two\): say which with --loop .*looprig\.config\.mts#one\n$/);
    const named = await runProgram(['run', 'hi', '--no-store', '--json', '--loop', `${several}#two`]);
    expect(named.status).toBe(0);
    expect(named.stdout).toContain('only.txt');
  });

  it.each([
    [
      ['--allow-commands'],
      '--allow-commands is for looprig\'s own loop: give looprig.config.ts the tool "run_command" instead',
    ],
    [['--workspace', 'nowhere'], '--workspace: the workspace root "nowhere" does not exist: give an existing folder'],
  ])('with %j is refused with one sentence', async (options, sentence) => {
    const shop = await configured('refused', `${IMPORTS}${CLERK} export default clerk;`);
    const { status, stderr } = await runProgram(['run', 'hi', '--no-store', '--loop', '.', ...options], { cwd: shop });
    expect({ status, stderr }).toEqual({ status: 2, stderr: `looprig: ${sentence}\n` });
  });
});

describe('a file that cannot be used is one sentence with its place', () => {
  it.each([
    ['syntax', 'export const a = 1;\nexport default {\n  loops: [,\n', ':3: Expression expected'],
    ['throws', '\nthrow new Error("no good\\nand more");\n', ':2:7: no good'],
    [
      'package',
      'import z from "no-such-package/part";\n',
      ': it needs the package no-such-package: run "npm install no-such-package"',
    ],
    ['module', 'import z from "./absent.ts";\n', /: it imports .*absent\.ts, which is not there$/],
    [
      'enum',
      'enum A { b }\nexport default {};\n',
      /:1: .*: Node runs TypeScript only where leaving out the types makes it JavaScript$/,
    ],
    ['nothing', 'export const loops = [];\n', ' has no default export: export default defineConfig({ loops: [ … ] })'],
    [
      'rig',
      `${IMPORTS}${CLERK}\nexport default defineRig({ loops: [clerk] });`,
      ' exports a rig: write defineConfig({ … }) in place of defineRig({ … })',
    ],
    ['empty', 'export default {};\n', /: the default export: "loops" must list at least one loop definition/],
    [
      'option',
      `${IMPORTS}${CLERK}\nexport default { loops: [clerk], stoer: 1 };`,
      /: the default export: a rig has no option "stoer": it takes loops, store, /,
    ],
    [
      'line',
      `${IMPORTS}\nexport default defineConfig({ loops: [] });`,
      /:20:16: "loops" must list at least one loop definition/,
    ],
    [
      'definition',
      `${IMPORTS}\ndefineTool({ name: 'no name', description: '', input: {}, execute: () => '' });`,
      /:20:1: name: "no name" is a name that model providers refuse/,
    ],
    ['bind', `${IMPORTS}${CLERK} export default clerk;`, /: loop "clerk": .*secrets/],
  ])('%s', async (name, text, expected) => {
    const place = await configured(`wrong-${name}`, text);
    const { status, stdout, stderr } = await runProgram(['check'], { cwd: place });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    const [, sentence] = /^looprig: looprig\.config\.ts(.*)\n$/.exec(stderr) ?? [];
    if (typeof expected === 'string') expect(sentence).toBe(expected);
    else expect(sentence).toMatch(expected);
  });

  it('also in plain JavaScript, where Node itself gives no place', async () => {
    const place = await configured(
      'wrong-js',
      'export const a = 1;\nexport default { a: [1, };\n',
      'looprig.config.mjs',
    );
    const { status, stderr } = await runProgram(['check', place]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/looprig\.config\.mjs:2: Unexpected token '}'\n$/);
  });

  it('and one that is not there is wrong usage', async () => {
    const place = await configured('none', '', 'other.ts');
    const [absent, empty] = await Promise.all([runProgram(['check', 'no.ts']), runProgram(['check'], { cwd: place })]);
    expect(absent).toMatchObject({
      status: 2,
      stderr: 'looprig: there is no file no.ts: give that of a configuration, or let "looprig init" write one\n',
    });
    expect(empty).toMatchObject({
      status: 2,
      stderr: 'looprig: there is no looprig.config.ts (or .mts, .js, .mjs) in .: "looprig init" writes one\n',
    });
  });
});

it('a file that is gone is named where its session goes on, and another may be given', async () => {
  const IDLE = `${IMPORTS}export default defineLoop({ name: 'idle', model: scriptedModel(forever(() => ({ text: 'Idle.' }))) });`;
  const gone = join(await configured('gone', IDLE), 'looprig.config.ts');
  const store = ['--store', join(folder, 'gone.db')];
  const first = await runProgram(['run', 'go', '--loop', gone, ...store]);
  expect(first).toMatchObject({ status: 0, stdout: 'Idle.\n' });
  const moved = join(folder, 'gone', 'moved.config.ts');
  await rename(gone, moved);
  for (const command of [
    ['run', 'on', '--session', 'last'],
    ['chat', '--session', 'last'],
    ['resume', 'last'],
    ['answer', 'last', 'yes'],
  ]) {
    const { status, stderr } = await runProgram([...command, ...store]);
    expect(status).toBe(2);
    expect(stderr.replace(/[0-9a-f]{8}/, 'ID')).toBe(
      `looprig: session ID was run with ${gone}, which is not there any more: say with --loop where it is now\n`,
    );
  }
  expect(await runProgram(['run', 'on', '--session', 'last', '--loop', moved, ...store])).toMatchObject({ status: 0 });
});

it('a file that awaits what never comes ends the program with one sentence', async () => {
  const file = join(
    await configured('awaits', 'await new Promise(() => {});\nexport default {};'),
    'looprig.config.ts',
  );
  for (const command of [
    ['check', file],
    ['run', 'go', '--loop', file],
    ['serve', '--loop', file],
  ]) {
    const { status, stdout, stderr } = await runProgram(command);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      'looprig: it cannot go on: something is awaited that never settles, as may be at the top of a configuration, or in a tool\n',
    );
  }
});

describe('looprig check', () => {
  it('tells tools, modes and limits, and asks no model', async () => {
    const shop = await configured(
      'checked',
      `${IMPORTS}
      const clerk = defineLoop({
        name: 'clerk', description: 'Knows the stock', model: scriptedModel([]), tools: [stock, ...workspaceTools({ readOnly: true })],
        limits: { calls: 20 }, modes: { quick: { tools: [stock], limits: { iterations: 3 } } }, initialMode: 'quick',
      });
      export default defineConfig({ loops: [clerk], secrets: { key: 'k' } });`,
    );
    const { status, stdout, stderr } = await runProgram(['check', shop]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'loop clerk: Knows the stock',
        '  stock',
        '    How many pieces of an article are in stock.',
        '    asks for permission',
        '  mode quick, in which it begins',
        '    tools stock · iterations 3',
        '✓ 1 loop, 4 tools: nothing is wrong',
      ]),
    );
    const [checked] = json(await runProgram(['check', `${shop}#clerk`, '--json']));
    expect(checked).toMatchObject({
      type: 'check',
      problems: [],
      loops: [
        {
          name: 'clerk',
          initialMode: 'quick',
          modes: [{ name: '', limits: { calls: 20, tokens: null } }, { name: 'quick' }],
        },
      ],
    });
  });

  it('tells each problem as JSON too', async () => {
    const place = await configured('wrong-json', 'export default {};');
    const ended = await runProgram(['check', place, '--json']);
    expect(ended).toMatchObject({ status: 1, stderr: '' });
    expect(json(ended)[0]).toMatchObject({
      type: 'check',
      loops: [],
      problems: [expect.stringContaining('"loops" must list')],
    });
  });
});
