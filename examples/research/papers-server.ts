/** A small MCP server, on its input and output: a shelf of papers that can be searched and read, and one tool that nobody should be given. */
import { createInterface } from 'node:readline';

const PAPERS: Readonly<Record<string, { readonly title: string; readonly text: string }>> = {
  p1: { title: 'Bees and hedges', text: 'Hedges within 500 m of a field doubled the visits of wild bees.' },
  p2: {
    title: 'Bees and mowing',
    text: 'Meadows that were mown twice a year had three times as many wild bees as lawns.',
  },
  p3: { title: 'Owls at night', text: 'Owls hunt over meadows.' },
};

const input = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
const readOnly = { readOnlyHint: true };
const TOOLS = [
  { name: 'search', description: 'Searches titles for a word.', inputSchema: input('word'), annotations: readOnly },
  { name: 'read', description: 'Reads a paper by its id.', inputSchema: input('id'), annotations: readOnly },
  { name: 'delete', description: 'Deletes a paper.', inputSchema: input('id') },
];

type Arguments = Readonly<Record<string, string>>;

function call(name: string, { word = '', id = '' }: Arguments): string {
  if (name === 'read') return PAPERS[id]?.text ?? `there is no paper "${id}"`;
  const found = Object.entries(PAPERS).filter(([, { title }]) => title.toLowerCase().includes(word.toLowerCase()));
  return found.map(([paper, { title }]) => `${paper}: ${title}`).join('\n') || 'nothing was found';
}

const ANSWERS: Readonly<Record<string, (params: { name: string; arguments: Arguments }) => object>> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'papers', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': params => ({ content: [{ type: 'text', text: call(params.name, params.arguments) }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // a notification wants no answer
  const result = ANSWERS[method]?.(params);
  const answer = result === undefined ? { error: { code: -32_601, message: `no method ${method}` } } : { result };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}
