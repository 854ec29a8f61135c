/** A server that asks the user something in the middle of a call. */
import { type McpElicitation, type McpElicitationAnswer, mcpToolset } from 'looprig/mcp';
import { expect, it } from 'vitest';
import { outputsOf, serverOf, wellBehaved } from './setup.ts';

/** Its tool gives what it was answered. */
const ASKS = wellBehaved(
  '[{ name: "x", inputSchema: { type: "object" } }]',
  `return new Promise(resolve => {
     waiting = answer => resolve({ content: [{ type: 'text', text: JSON.stringify(answer.result ?? answer.error.code) }] });
     const properties = { name: { type: 'string', default: 'Ada' }, age: { type: 'integer' } };
     out({ id: 'question', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties } } });
   });`,
  `let waiting;
   createInterface({ input: process.stdin }).on('line', line => {
     const message = JSON.parse(line);
     if (message.id === 'question' && message.method === undefined) waiting(message);
   });`,
);

async function answered(elicit?: (question: McpElicitation) => McpElicitationAnswer): Promise<unknown> {
  const toolset = await mcpToolset(serverOf(ASKS, elicit === undefined ? {} : { elicit }));
  const [output] = await outputsOf([toolset], [{ tool: 'x' }]);
  return JSON.parse(String(output?.type === 'text' && output.value));
}

it('is told that nobody can be asked, where nobody can', async () => {
  expect(await answered()).toBe(-32601);
});

it('gets the answer of the program, with the defaults of what it leaves out', async () => {
  const questions: McpElicitation[] = [];
  const accepted = await answered(question => {
    questions.push(question);
    return { action: 'accept', content: { age: 36 } };
  });
  expect(accepted).toEqual({ action: 'accept', content: { name: 'Ada', age: 36 } });
  expect(questions).toMatchObject([{ server: 'made', message: 'Who?', requestedSchema: { type: 'object' } }]);
  expect(await answered(() => ({ action: 'decline' }))).toEqual({ action: 'decline' });
});

it('is told that the question was called off, where the program throws', async () => {
  const thrown = await answered(() => {
    throw new Error('mine');
  });
  expect(thrown).toEqual({ action: 'cancel' });
});
