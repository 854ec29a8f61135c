/**
 * An assistant for a repository: it reads as it likes, and asks at the terminal before it changes a file or runs a program.
 * `node examples/repository-assistant/main.ts [FOLDER] [REQUEST]`; without a folder it is given a small one with a bug in it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { anthropic } from '@ai-sdk/anthropic';
import { defineLoop, defineRig, type GateAnswer, type TurnEvent } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { workspaceTools } from 'looprig/workspace';

/** Plays the model without a key: it looks, mends, and sees whether that was right. */
const rehearsal = scriptedModel([
  {
    text: 'I look at the code and at its check.',
    calls: [
      { tool: 'read_file', input: { path: 'mean.js' } },
      { tool: 'read_file', input: { path: 'check.js' } },
    ],
  },
  {
    text: 'The mean divides by one too many.',
    calls: [
      { tool: 'edit_file', input: { path: 'mean.js', old_text: '(values.length + 1)', new_text: 'values.length' } },
    ],
  },
  {
    text: 'Now the check, and the folder can be cleaned up.',
    calls: [
      { tool: 'run_command', input: { command: ['node', 'check.js'] } },
      { tool: 'run_command', input: { command: ['rm', '-r', 'old'] } },
    ],
  },
  { text: 'mean.js is mended, and its check passes. The old files are still there.' },
]);

const assistant = defineLoop({
  name: 'repository-assistant',
  model: process.env.ANTHROPIC_API_KEY ? anthropic('claude-sonnet-4-5') : rehearsal,
  system: 'You work on the repository in your workspace. Read before you change anything, change little, and check it.',
  tools: workspaceTools({ runCommand: { timeoutMs: 120_000 } }),
  limits: { iterations: 30, calls: 80, parallel: 4, tokens: 500_000 },
  // Nobody is asked about these, since no answer would be right.
  gate: {
    rules: [
      { action: 'fs.write', target: '.env*', decision: 'deny' },
      { action: 'fs.write', target: '.git/**', decision: 'deny' },
    ],
  },
});

const [, , given, request = 'The mean is wrong. Find out why, and mend it.'] = process.argv;
if (given !== undefined && !process.env.ANTHROPIC_API_KEY)
  throw new Error('without ANTHROPIC_API_KEY a script plays the model, for a folder of its own: leave yours out');
const folder = given ?? (await smallRepository());
let isInText = false;

// Lines are read ahead, so that answers may be piped in; where there are none left, the answer is no.
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

try {
  const rig = defineRig({ loops: [assistant], workspace: folder, gate: { ask: true } });
  await using session = await rig.open();
  const turn = session.submit(request);
  for await (const event of turn) {
    show(event);
    if (event.type === 'gate.opened') {
      const wants = event.requests.map(({ description, target }) => description ?? target).join(', ');
      say(`? ${event.summary ?? wants}  [y]es, [a]lways, or why not: `);
      const { value = 'nobody is there' } = await lines.next();
      process.stdout.write(`${value}\n`);
      await session.answer(event.gateId, answerOf(value));
    }
  }
  const result = await turn.result;
  say(result.status === 'done' ? '' : `It ended ${result.status}.\n`);
  process.exitCode = result.status === 'done' ? 0 : 1;
} finally {
  process.stdin.destroy();
  if (given === undefined) await rm(folder, { recursive: true });
}

/** What a person typed. What is neither yes nor always is a reason, which the model reads. */
function answerOf(line: string): GateAnswer {
  const said = line.trim();
  if (/^y(es)?$/i.test(said)) return { decision: 'approve' };
  if (/^a(lways)?$/i.test(said)) return { decision: 'approveAlways' }; // this very thing, for the rest of the session
  return { decision: 'deny', reason: said };
}

function show(event: TurnEvent): void {
  if (event.type === 'text.delta') {
    process.stdout.write(event.text);
    isInText = true;
  }
  if (event.type !== 'tool.completed') return;
  const said = 'value' in event.output ? String(event.output.value).split('\n')[0] : '';
  say(`  ${event.toolName}: ${event.outcome}${event.isError ? ` (${said})` : ''}\n`);
}

/** Says something on a line of its own, also after a text that is being written. */
function say(text: string): void {
  process.stdout.write(isInText ? `\n${text}` : text);
  isInText = false;
}

async function smallRepository(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'looprig-repository-'));
  await writeFile(join(place, 'package.json'), '{ "type": "module" }\n');
  await writeFile(
    join(place, 'mean.js'),
    'export const mean = values => values.reduce((sum, value) => sum + value, 0) / (values.length + 1);\n',
  );
  const check = "if (mean([1, 2, 3]) !== 2) throw new Error('the mean of 1, 2, 3 is 2');";
  await writeFile(join(place, 'check.js'), `import { mean } from './mean.js';\n${check}\n`);
  return place;
}
