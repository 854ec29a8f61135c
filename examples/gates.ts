// A call says what it wants; rules allow or deny it, and what they leave open is asked of a person, who may be asked days later.
import { type AccessRequest, defineLoop, defineRig, defineTool, type GateAnswer, memoryStore } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const written: string[] = [];
const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  input: z.object({ path: z.string(), text: z.string() }),
  access: ({ path }): AccessRequest[] => [{ action: 'fs.write', target: path, description: `write to ${path}` }],
  execute: ({ path }) => `file ${written.push(path)}`,
});

const paths = ['notes/today.md', 'src/main.ts', 'src/test.ts', 'READ.ME', '.env'];
const editor = defineLoop({
  name: 'editor',
  model: scriptedModel([
    { calls: paths.map(path => ({ tool: 'write', input: { path, text: '…' } })) },
    { calls: [{ tool: 'write', input: { path: 'src/main.ts', text: '… and more' } }] },
    { text: 'I wrote what I was allowed to.' },
  ]),
  tools: [write],
  gate: { rules: [{ action: '*', target: '.env', decision: 'deny' }] }, // deny beats allow, wherever it stands
});

const store = memoryStore(); // `sqliteStore` of looprig/sqlite outlives the process
const openRig = () => {
  const rules = [{ action: 'fs.write', target: 'notes/**', decision: 'allow' as const }];
  return defineRig({ loops: [editor], store, gate: { rules, ask: true } }); // without `ask`, what must be asked is denied
};

// One process asks, and ends before anybody answers.
const asking = await openRig().open();
let open = 3;
for await (const event of asking.submit('Bring the files up to date.')) {
  if (event.type === 'gate.opened') console.log('asked:', event.requests[0]?.description);
  if (event.type === 'gate.opened' && --open === 0) break;
}

// Another one finds the gates. A person looks at `requests`, or at the tool's own `summary`, and decides.
const answers: Readonly<Record<string, GateAnswer>> = {
  'src/main.ts': { decision: 'approveAlways' }, // this file, for the rest of the session: it is not asked for again
  'src/test.ts': { decision: 'deny', reason: 'not the tests' },
  'READ.ME': { decision: 'edit', input: { path: 'README.md', text: '…' } },
};
await using session = await openRig().open({ sessionId: asking.id });
for (const { gateId, requests } of session.gates) await session.answer(gateId, answers[requests[0]?.target ?? '']!);

for await (const event of session.resume()) {
  if (event.type !== 'tool.completed') continue;
  if (event.output.type === 'error-text' || event.output.type === 'text') console.log('told:', event.output.value);
}
console.log('written:', written.join(', '));
await asking.close(); // it was overtaken: whatever it would still record is refused
