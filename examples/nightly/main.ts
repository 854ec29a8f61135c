/**
 * A job for the night, as a scheduler starts it: looks into the builds that failed, within limits that nobody has to watch, and leaves a report.
 * `node examples/nightly/main.ts [FOLDER]`: sessions and reports are kept in the folder. It ends with 1 where somebody should look.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { anthropic } from '@ai-sdk/anthropic';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { retry } from 'looprig/middleware/retry';
import { readSession, reportHtml } from 'looprig/report';
import { sqliteStore } from 'looprig/sqlite';
import { forever, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

/** In a program of yours: what your build server says. */
const LOGS: Readonly<Record<string, string>> = {
  web: 'error: Cannot find module "left-pad"',
  api: 'error: connect ECONNREFUSED 127.0.0.1:5432',
  docs: 'error: dead link in guide.md',
};

const failedBuilds = defineTool({
  name: 'failed_builds',
  description: 'The builds that failed today.',
  input: z.object({}),
  idempotent: true,
  execute: () => Object.keys(LOGS),
});
const buildLog = defineTool({
  name: 'build_log',
  description: 'The end of a build’s log.',
  input: z.object({ build: z.string(), line: z.number().default(0) }),
  idempotent: true, // it only reads: after a crash it may simply run again
  execute: ({ build, line }) => `${line}: ${LOGS[build] ?? 'no such build'}`,
});

/** Plays a model without a key that would look into logs for ever, and is told when to stop. */
const rehearsal = scriptedModel(
  forever(({ toolChoice }, index) => {
    if (toolChoice?.type === 'none')
      return { text: 'web lacks a package, api found no database, docs has a dead link.' };
    if (index === 0) return { calls: [{ tool: 'failed_builds', input: {} }] };
    return { calls: Object.keys(LOGS).map(build => ({ tool: 'build_log', input: { build, line: index } })) };
  }),
);

const nightWatch = defineLoop({
  name: 'night-watch',
  model: process.env.ANTHROPIC_API_KEY ? anthropic('claude-sonnet-4-5') : rehearsal,
  system: 'Say in one sentence for each failed build why it failed, and who should look.',
  tools: [failedBuilds, buildLog],
  middlewares: [retry({ tools: ['failed_builds', 'build_log'] })], // build servers have bad nights, too
  // What the night may cost. At any of these the model gives the answer that it has.
  limits: { iterations: 12, calls: 10, parallel: 3, tokens: 200_000, turnTimeoutMs: 15 * 60_000 },
  atLimit: 'answer',
});

const folder = resolve(process.argv[2] ?? 'nightly');
await mkdir(folder, { recursive: true });
const store = sqliteStore({ file: join(folder, 'nights.db') });
const rig = defineRig({ loops: [nightWatch], store });

// A night that was cut short (the machine was restarted) is brought to its end first: what it knows is not asked again.
const cut = (await rig.sessions()).find(({ state }) => state === 'running');
const session = await rig.open(cut === undefined ? {} : { sessionId: cut.sessionId });
if (cut !== undefined) console.log('taking up the night that was cut short');
const turn = session.unfinished === undefined ? session.submit('Why did builds fail today?') : session.resume();
const result = await turn.result;

const report = join(folder, `${new Date().toISOString().slice(0, 10)}.html`);
await writeFile(report, reportHtml(await readSession(store, session.id), { title: 'The builds of tonight' }));
await session.close();
await store.close();

console.log(result.status === 'done' ? result.text : `The night ended ${result.status}.`);
if (result.status === 'done' && result.limited !== undefined)
  console.log(`It stopped at its limit of ${result.limited.limit}.`);
console.log(`${result.usage.inputTokens ?? 0} tokens in, ${result.usage.outputTokens ?? 0} out; report: ${report}`);
process.exitCode = result.status === 'done' ? 0 : 1;
