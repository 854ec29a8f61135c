// A call says what it wants; rules allow or deny it, and what they leave open is asked of a person.
import { type AccessRequest, defineLoop, defineRig, defineTool } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const written: string[] = [];
const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  input: z.object({ path: z.string(), text: z.string() }),
  access: ({ path }): AccessRequest[] => [{ action: 'fs.write', target: path, description: `write to ${path}` }],
  execute: ({ path }) => {
    written.push(path);
    return 'written';
  },
});

const paths = ['notes/today.md', 'src/main.ts', 'src/test.ts', '.env'];
const editor = defineLoop({
  name: 'editor',
  model: scriptedModel([
    { calls: paths.map(path => ({ tool: 'write', input: { path, text: '…' } })) },
    { text: 'I wrote what I was allowed to.' },
  ]),
  tools: [write],
});

const rig = defineRig({
  loops: [editor],
  gate: {
    ask: true, // somebody answers; without this, what must be asked is denied
    rules: [
      { action: 'fs.write', target: 'notes/**', decision: 'allow' },
      { action: '*', target: '.env', decision: 'deny' }, // deny beats allow
    ],
  },
});
await using session = await rig.open();

for await (const event of session.submit('Bring the files up to date.')) {
  if (event.type === 'gate.opened') {
    const [request] = event.requests;
    const yes = request?.target === 'src/main.ts'; // a person looks at `request.description` and decides
    console.log('asked:', request?.description, yes ? '→ yes' : '→ no');
    await session.answer(event.gateId, yes ? { decision: 'approve' } : { decision: 'deny', reason: 'not the tests' });
  }
  if (event.type === 'tool.completed' && event.output.type === 'error-text') console.log('told:', event.output.value);
}
console.log('written:', written.join(', '));
