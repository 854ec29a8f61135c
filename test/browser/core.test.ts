/** `looprig` alone in a browser: bundled without Node, it runs a turn with tools, a gate and a store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, type TestBrowser } from './browser.ts';
import { type Bundle, bundleCore, bundleScript } from './bundle.ts';
import { type PageServer, servePage } from './server.ts';
import { folderOf } from './services.ts';

/** The page finds `looprig` here, and would find the Node modules there. */
const PAGE = `<!doctype html>
<title>looprig</title>
<script type="importmap">
  { "imports": { "looprig": "/looprig.js", "node:fs/promises": "/node/fs.js", "node:path": "/node/path.js" } }
</script>
<script type="module" src="/page.js"></script>`;

let core: Bundle;
let browser: TestBrowser;
let server: PageServer;

beforeAll(async () => {
  core = await bundleCore();
  const script = await bundleScript(new URL('./core-page.ts', import.meta.url));
  const noModule = 'throw new Error("a page has no Node");';
  server = await servePage({
    '/': PAGE,
    '/looprig.js': core.code,
    '/page.js': script.code,
    '/node/fs.js': noModule,
    '/node/path.js': noModule,
  });
  browser = await startBrowser();
}, 60_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

describe('looprig alone, bundled for a browser', () => {
  it('has no Node module but those that a folder as workspace loads, and nothing of AI SDK, MCP or telemetry', () => {
    expect(core.imports.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
      'dynamic-import node:fs/promises',
      'dynamic-import node:path',
    ]);
    const packages = core.files.map(file => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? 'looprig');
    expect([...new Set(packages)].sort()).toEqual(['@cfworker/json-schema', '@noble/hashes', 'looprig']);
    const beside = core.files.filter(file => /^src\/(ai|cli|mcp|middleware|otel|testing|workspace)\//.test(file));
    expect(beside).toEqual([]);
  });

  it('is found wrong with a Node module in it', async () => {
    const files = new URL('../../src/workspace/index.ts', import.meta.url);
    await expect(bundleScript(files)).rejects.toThrow(/node:[\w/]+ is imported by .*: a page has no Node/);
  });

  it('runs a turn with tools, a gate and a store in Chromium, and opens the session again', async () => {
    await using tab = await browser.open(server.url);
    const seen = await tab.page.evaluate('runTurn()');
    expect(seen).toMatchObject({
      result: { status: 'done', text: 'It is 5.', iterations: 1, calls: 3, usage: { inputTokens: 20 } },
      asked: ['keep a text in the page', '0'],
      saved: ['five'],
      isRestored: true,
      history: [
        { role: 'user' },
        { role: 'assistant' },
        {
          role: 'tool',
          content: [
            { toolCallId: 'c1', output: { type: 'json', value: 5 } },
            { toolCallId: 'c2', output: { type: 'text', value: 'kept' } },
            {
              toolCallId: 'c3',
              output: { type: 'error-text', value: expect.stringContaining('do not fit the schema of "add"') },
            },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'It is 5.' }] },
      ],
    });
    const { events } = seen as { readonly events: readonly string[] };
    expect(events.filter(type => type === 'text.delta')).toHaveLength(2);
    expect(events.at(-1)).toBe('turn.done');
    expect(tab.complaints).toEqual([]);
    expect(server.asked.filter(path => path.includes('/node/'))).toEqual([]);
  });

  it('asks for the file system of Node when a folder is opened as workspace, and not before', async () => {
    await using tab = await browser.open(server.url);
    expect(server.asked.filter(path => path.includes('/node/'))).toEqual([]);
    expect(await tab.page.evaluate('openFolder()')).toContain('a page has no Node');
    expect(server.asked.filter(path => path.includes('/node/'))).toEqual(['GET /node/fs.js']);
  });
});

describe('a page of these tests', () => {
  it('reaches nothing but its own server, and an attempt is seen', async () => {
    await using tab = await browser.open(server.url);
    const elsewhere = 'http://elsewhere.test/';
    const said = await tab.page.evaluate(`fetch('${elsewhere}').then(() => 'reached', error => error.name)`);
    expect(said).toBe('TypeError');
    expect(tab.complaints).toEqual([`a request to ${elsewhere}`]);
  });

  it('says what to run where a package of the tests is missing', () => {
    expect(() => folderOf('not-there')).toThrow(
      'not-there is not installed: run "npm ci --prefix test/services" first',
    );
  });
});
