/** The client scenarios of the protocol's conformance suite that need no OAuth, through a client that is made of looprig/mcp. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { serviceProgram } from './services.ts';

const CLIENT = fileURLToPath(new URL('conformance-client.ts', import.meta.url));

/** A check that fails on a slow machine, whatever a client does: it measures real time. */
const MEASURES_TIME = 'client-sse-retry-timing';

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO';
  readonly errorMessage?: string;
}

async function checksOf(scenario: string): Promise<readonly Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'looprig-conformance-'));
  const command = `"${process.execPath}" "${CLIENT}"`;
  const args = [serviceProgram('conformance'), 'client', '--command', command, '--scenario', scenario, '-o', folder];
  try {
    await promisify(execFile)(process.execPath, args).catch(() => undefined); // it fails with its checks
    const [result = ''] = await readdir(folder);
    return JSON.parse(await readFile(join(folder, result, 'checks.json'), 'utf8')) as Check[];
  } finally {
    await rm(folder, { recursive: true });
  }
}

it.concurrent.each([
  ['initialize', ['mcp-client-initialization']],
  ['tools_call', ['tool-add-numbers']],
  [
    'elicitation-sep1034-client-defaults',
    ['string', 'integer', 'number', 'enum', 'boolean'].map(type => `client-elicitation-sep1034-${type}-default`),
  ],
  ['sse-retry', ['client-sse-graceful-reconnect', 'client-sse-last-event-id']],
])('the scenario %s is passed', async (scenario, expected) => {
  const checks = (await checksOf(scenario)).filter(({ status, id }) => status !== 'INFO' && id !== MEASURES_TIME);
  expect(checks.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
  expect(checks.map(({ id }) => id)).toEqual(expected);
});
