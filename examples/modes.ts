// One loop, two ways to work: each mode has its own tools, instructions, limits and settings over those of the loop.
import { defineLoop, defineRig } from 'looprig';
import { scriptedModel, scriptedTool } from 'looprig/testing';

const read = scriptedTool('read', 'the code');
const edit = scriptedTool('edit', 'changed');
const model = scriptedModel([
  { text: 'A plan.' },
  { calls: [{ tool: 'edit', input: { line: 1 } }] },
  { text: 'Done as planned.' },
]);

const coder = defineLoop({
  name: 'coder',
  model,
  system: 'You write code.',
  tools: [read.definition],
  limits: { calls: 20 },
  modes: {
    plan: { instructions: 'Make a plan. Change nothing.' },
    build: { tools: [read.definition, edit.definition], limits: { calls: 60 }, settings: { temperature: 0 } },
  },
  initialMode: 'plan', // checked by the compiler: 'plan' or 'build'
});

for (const { name, tools, limits } of coder.modes) {
  console.log(`mode "${name}": ${tools.map(tool => tool.name).join(', ')}; ${limits.calls} calls`);
}

await using session = await defineRig({ loops: [coder] }).open();
console.log(session.mode, '→', (await session.run('Mend the parser.')).text);
await session.setMode('build'); // holds from the next turn on
console.log(session.mode, '→', (await session.run('Go on.')).text);

const [planning, building] = model.requests;
console.log('asked with:', planning?.tools?.map(tool => tool.name).join(', '));
console.log('then with:', building?.tools?.map(tool => tool.name).join(', '), 'at temperature', building?.temperature);
