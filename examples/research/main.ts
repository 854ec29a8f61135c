/**
 * Research over the tools of an MCP server: the loop searches and reads side by side, and gives its findings as data, each with its source.
 * `node examples/research/main.ts [QUESTION]`
 */
import { join } from 'node:path';
import { anthropic } from '@ai-sdk/anthropic';
import { defineLoop, defineRig } from 'looprig';
import { mcpToolset } from 'looprig/mcp';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const findings = z.object({
  findings: z.array(z.object({ claim: z.string(), source: z.string().describe('the id of the paper that says so') })),
});

/** Plays the model without a key. One of its findings names a paper that it never read, as models do. */
const rehearsal = scriptedModel([
  {
    calls: [
      { tool: 'papers_search', input: { word: 'bees' } },
      { tool: 'papers_search', input: { word: 'hedge' } },
    ],
  },
  {
    calls: [
      { tool: 'papers_read', input: { id: 'p1' } },
      { tool: 'papers_read', input: { id: 'p2' } },
    ],
  },
  {
    text: JSON.stringify({
      findings: [
        { claim: 'Hedges near fields double the visits of wild bees.', source: 'p1' },
        { claim: 'Meadows mown twice a year have three times as many wild bees as lawns.', source: 'p2' },
        { claim: 'Wild bees prefer the morning.', source: 'p7' },
      ],
    }),
  },
]);

// The server is a program; anything that speaks the protocol goes here, also by its URL. What is not included is not offered.
const papers = await mcpToolset({
  name: 'papers',
  command: process.execPath,
  args: [join(import.meta.dirname, 'papers-server.ts')],
  include: ['search', 'read'],
  prefix: true, // so that another server may have a tool "search" as well
});
console.log('offered:', papers.tools.map(({ name }) => name).join(', '));

const researcher = defineLoop({
  name: 'researcher',
  model: process.env.ANTHROPIC_API_KEY ? anthropic('claude-sonnet-4-5') : rehearsal,
  system:
    'You answer from the papers alone. Search with several words, read what fits, and name the paper of each claim.',
  tools: [papers],
  output: findings,
  outputMode: 'native',
  limits: { iterations: 8, calls: 30, parallel: 6 },
  atLimit: 'answer', // what was found so far is worth having
});

await using session = await defineRig({ loops: [researcher] }).open();
const turn = session.submit(process.argv[2] ?? 'What helps wild bees?');

// Which papers were really read is known from the events, whatever the answer says.
const read = new Set<string>();
for await (const event of turn) {
  if (event.type !== 'tool.called') continue;
  const { id, word } = event.input as { readonly id?: string; readonly word?: string };
  console.log(event.toolName, id ?? word);
  if (id !== undefined) read.add(id);
}

const result = await turn.result;
if (result.status === 'done' && result.output !== undefined) {
  for (const { claim, source } of findings.parse(result.output).findings) {
    console.log(
      read.has(source) ? `- ${claim} [${source}]` : `- not shown: "${claim}" names ${source}, which was not read`,
    );
  }
} else {
  console.error('nothing was found out:', result.status === 'failed' ? result.error.message : result.status);
  process.exitCode = 1;
}
