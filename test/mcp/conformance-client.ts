/** A client as the conformance scenarios want one: connects to the address that it is given, and calls each tool, through a loop. */
import { defineLoop, defineRig } from '../../src/index.ts';
import { McpError, mcpToolset } from '../../src/mcp/index.ts';
import { collect, scriptedModel } from '../../src/testing/index.ts';

const INPUTS: Readonly<Record<string, object>> = { add_numbers: { a: 5, b: 3 } };

const url = process.argv.at(-1) ?? '';
const toolset = await mcpToolset({ name: 'scenario', url, elicit: () => ({ action: 'accept', content: {} }) }).catch(
  error => {
    if (McpError.is(error) && error.kind === 'unusable_tools') return undefined; // a scenario that is about the handshake alone
    throw error;
  },
);
if (toolset !== undefined) {
  const calls = toolset.tools.map(({ name, serverName }) => ({ tool: name, input: INPUTS[serverName] ?? {} }));
  const gate = { rules: [{ action: 'mcp.call', target: 'scenario/*', decision: 'allow' as const }] };
  const loop = defineLoop({
    name: 'client',
    model: scriptedModel([{ calls }, { text: 'done' }]),
    tools: [toolset],
    gate,
  });
  await using session = await defineRig({ loops: [loop] }).open();
  const { events, result } = await collect(session.submit('go'));
  for (const event of events)
    if (event.type === 'tool.completed') console.log(event.toolName, JSON.stringify(event.output));
  if (result.status !== 'done') process.exitCode = 1;
}
