// The workspace tools on a folder of their own: they read and write there by rule, and nothing leads out of it.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { workspaceTools } from 'looprig/workspace';

const folder = await mkdtemp(join(tmpdir(), 'looprig-'));
await writeFile(join(folder, 'notes.md'), '# Notes\n- buy lamps\n- mend the chair\n');

const model = scriptedModel([
  {
    calls: [
      { tool: 'list_files', input: {} },
      { tool: 'search_text', input: { query: 'lamps' } },
      { tool: 'read_file', input: { path: '../secrets.txt' } },
    ],
  },
  {
    calls: [
      { tool: 'edit_file', input: { path: 'notes.md', old_text: 'buy lamps', new_text: 'buy 4 lamps' } },
      { tool: 'run_command', input: { command: ['rm', '-rf', '.'] } },
    ],
  },
  { text: 'The notes say how many lamps.' },
]);
const keeper = defineLoop({ name: 'keeper', model, tools: workspaceTools() });
const rig = defineRig({
  loops: [keeper],
  workspace: folder,
  gate: { rules: [{ action: 'fs.write', target: '*.md', decision: 'allow' }] }, // no rule allows a command
});

try {
  await using session = await rig.open();
  for await (const event of session.submit('Say in the notes that we need 4 lamps.')) {
    if (event.type !== 'tool.completed' || !('value' in event.output)) continue;
    console.log(event.toolName, event.outcome, '·', String(event.output.value).split('\n')[0]);
  }
  console.log((await readFile(join(folder, 'notes.md'), 'utf8')).split('\n')[1]);
} finally {
  await rm(folder, { recursive: true });
}
