/** The package, packed and installed, on every runtime that it is promised for: the same checks on all, without a test runner. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../browser/browser.ts';
import { bundleCore } from '../browser/bundle.ts';
import { servePage } from '../browser/server.ts';
import { codeBlocks } from '../documents/blocks.ts';
import type { Checked, PlatformCheck } from './check.ts';
import { WEB_CHECKS } from './checks.ts';
import { type Installation, install, webScript } from './installation.ts';
import { OTHERS_LEFT_OUT, playOn, RUNTIMES, runOn, versionOf } from './runtimes.ts';
import { SYSTEM_CHECKS } from './system-checks.ts';

let installation: Installation;

beforeAll(async () => {
  installation = await install();
}, 120_000);

afterAll(() => installation?.[Symbol.asyncDispose]());

/** A test for each check: that it was played, and holds. */
function eachHolds(checks: readonly PlatformCheck[], play: () => Promise<readonly Checked[]>): void {
  let played: readonly Checked[];
  beforeAll(async () => {
    played = await play();
  }, 300_000);

  it.each(checks.map(({ name }) => name))('%s', name => {
    expect(played.filter(one => one.name === name)).toEqual([{ name }]);
  });
}

describe.each(RUNTIMES)(`on $name${OTHERS_LEFT_OUT}`, runtime => {
  it('the version is the one that is meant', async () => {
    expect(await versionOf(runtime)).toMatch(runtime.version);
  });

  it('the example of the README runs as it stands', async () => {
    const [example] = codeBlocks('README.md').filter(({ language }) => language === 'ts');
    await writeFile(join(installation.folder, 'clerk.mjs'), example?.code ?? '');
    expect(await runOn(runtime, installation.folder, 'clerk.mjs')).toContain('There are 4 lamps and 5 chairs.');
  });

  eachHolds([...WEB_CHECKS, ...SYSTEM_CHECKS], () => playOn(runtime, installation));
});

describe('in Chromium', () => {
  eachHolds(WEB_CHECKS, async () => {
    await using server = await servePage({
      '/': '<!doctype html><title>checks</title><script type="module" src="/checks.js"></script>',
      '/checks.js': await webScript(installation),
    });
    await using browser = await startBrowser();
    await using tab = await browser.open(server.url);
    return (await tab.page.evaluate('playChecks()')) as readonly Checked[];
  });
});

describe('where there is no Node and no code may be made of text, as at the edge', () => {
  eachHolds(WEB_CHECKS, async () => {
    await writeFile(join(installation.folder, 'edge-checks.mjs'), await webScript(installation));
    const edge = join(installation.folder, 'edge.mjs');
    await writeFile(edge, EDGE);
    const args = ['--disallow-code-generation-from-strings', edge];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: {}, maxBuffer: 10_000_000 });
    return JSON.parse(stdout);
  });

  it('the core makes no code of text, and looks for no global of Node', async () => {
    const { code } = await bundleCore();
    expect(
      code.match(/\beval\s*\(|\bnew Function\b|\bFunction\s*\(|\bBuffer\b|\b(?<!\.)process\.|\brequire\s*\(/g),
    ).toBeNull();
  });
});

/** Takes away what Node has beside web standards, but for its own `fetch`, which is made with it; and plays the checks. */
const EDGE = `
const { process: { stdout }, Buffer } = globalThis;
for (const name of ['process', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name];
const isNodes = () => new Error().stack.split('\\n')[3].includes('node:internal');
Object.defineProperty(globalThis, 'Buffer', { get: () => isNodes() ? Buffer : undefined });
await import('./edge-checks.mjs');
stdout.write(JSON.stringify(await globalThis.playChecks()));
`;
