/** The 28 tools of a server that misbehaves as real ones do, each through a loop: what the model is shown of it. */
import type { ToolResultOutput } from 'looprig';
import { type McpToolset, mcpToolset } from 'looprig/mcp';
import { collect, type ScriptedCall } from 'looprig/testing';
import { beforeAll, expect, it } from 'vitest';
import { childrenOf, type Opened, odd, open, outputsIn, outputsOf } from './setup.ts';

let toolset: McpToolset;
/** Keeps the server that all tests share. */
let holder: Opened;
/** It takes three seconds, and runs beside the others. */
let late: Promise<readonly [progress: readonly unknown[], outputs: readonly ToolResultOutput[]]>;

beforeAll(async () => {
  toolset = await mcpToolset(odd({ shared: true }));
  holder = await open([toolset], []);
  late = runLate();
});

async function runLate(): Promise<readonly [readonly unknown[], readonly ToolResultOutput[]]> {
  await using opened = await open([await mcpToolset(odd())], [{ calls: [{ tool: 'late' }] }, { text: 'done' }]);
  const { events } = await collect(opened.session.submit('go'));
  const progress = events.flatMap(event => (event.type === 'tool.progress' ? [event.update] : []));
  return [progress, outputsIn(opened.events)];
}

const LONG = `ns.sub/${'long-name-'.repeat(9)}`;

it('offers all that it lists, once each, under names that providers take', () => {
  const names = toolset.tools.map(({ name }) => name);
  expect(names).toHaveLength(27); // two of the 28 have one name
  expect(new Set(names).size).toBe(27);
  expect(names.filter(name => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
  expect(toolset.produces).toEqual(names);
  expect(toolset.tools.find(({ serverName }) => serverName === LONG)?.name).toMatch(
    /^ns_sub_long-name-.*_[0-9a-f]{8}$/,
  );
  expect(toolset.notices.map(({ kind, tool }) => [kind, tool])).toEqual([
    ['schema_simplified', 'bad_pattern'],
    ['tool_skipped', 'twice'],
  ]);
});

const text = (value: string): ToolResultOutput => ({ type: 'text', value });
const error = (value: string): ToolResultOutput => ({ type: 'error-text', value });

/** Tool, arguments, and what the model is shown. */
const TABLE: readonly (readonly [tool: string, input: object, expected: ToolResultOutput])[] = [
  ['plain', { s: 'x' }, text('got {"s":"x"}')],
  ['plain', {}, error(expect.stringContaining('the arguments do not fit the schema of "plain"'))],
  ['no_properties', {}, text('called no_properties')],
  ['no_properties', { any: 1 }, text('called no_properties')],
  ['schema_2020', { p: [1, 2] }, text('called schema_2020')],
  ['schema_2020', { p: [1, 2, 3] }, error(expect.stringContaining('p.2'))],
  ['schema_2020', { q: 1 }, error(expect.stringContaining('q: not allowed here'))],
  ['root_any_of', { a: '1' }, text('called root_any_of')],
  ['root_any_of', {}, error(expect.stringContaining('do not fit the schema'))],
  ['recursive', { root: { kids: [{ kids: [] }] } }, text('called recursive')],
  ['recursive', { root: { kids: [{ kids: 1 }] } }, error(expect.stringContaining('root.kids.0.kids'))],
  ['true_property', { any: { thing: [] } }, text('called true_property')],
  ['bad_pattern', { s: 'anything' }, text('called bad_pattern')],
  ['bad_pattern', { s: 1 }, error(expect.stringContaining('s: '))],
  ['twice', {}, text('called twice')],
  [
    'out_wrong_type',
    {},
    {
      type: 'content',
      value: [
        { type: 'text', text: '{"n":"one"}' },
        { type: 'text', text: expect.stringContaining('[the structured content is not what the tool promises: n: ') },
      ],
    },
  ],
  [
    'out_missing',
    {},
    {
      type: 'content',
      value: [
        { type: 'text', text: 'no structured content' },
        { type: 'text', text: '[the structured content is not what the tool promises: it is missing]' },
      ],
    },
  ],
  [
    'out_no_schema',
    {},
    {
      type: 'content',
      value: [
        { type: 'text', text: 'x' },
        { type: 'text', text: '{"free":[1,2]}' },
      ],
    },
  ],
  [
    'unknown_content',
    {},
    {
      type: 'content',
      value: [
        { type: 'text', text: '[a part of the unknown kind "hologram" is left out]' },
        { type: 'text', text: 'after' },
      ],
    },
  ],
  ['no_content', {}, text('(the tool gave no content)')],
  [
    'protocol_error',
    {},
    error('MCP server "odd", tool "protocol_error": the server answered with an error: inside (-32603)'),
  ],
  ['answers_twice', {}, text('first')],
  ['noise', {}, text('after noise')],
  ['split_utf8', {}, text('日本語 🙂')],
  [
    'dies',
    {},
    error(
      expect.stringMatching(
        /^MCP server "odd", tool "dies": the server ended with exit code 3; it may or may not have/,
      ),
    ),
  ],
  ['asks_client', {}, text('[["srv-1",-32601],["srv-2","ok"]]')],
  ['changes_list', {}, text('changed')],
  ['ansi_and_controls', {}, text('red  \u202e reversed \ufffd lone')],
  ['progress_after_result', {}, text('done')],
];

it.each(TABLE)('%s with %j is answered as it should be', async (tool, input, expected) => {
  expect(await outputsOf([toolset], [{ tool, input }])).toEqual([expected]);
});

it('cases 45 and 46: a huge result is cut within the limit of the loop, and says how much is left out', async () => {
  const [output] = await outputsOf([toolset], [{ tool: 'huge' }]);
  expect(output?.type).toBe('text');
  const shown = String(output?.type === 'text' && output.value);
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(102_400);
  const note = shown.replaceAll('x', '');
  expect(shown.length - note.length).toBeGreaterThan(100_000);
  expect(note).toMatch(
    /^\s*\[... \d+ of 5000000 bytes left out here\. The call itself was complete; read on: read_tool_result/,
  );
});

it('many parts become one text, in their order', async () => {
  const all = Array.from({ length: 5_000 }, (_, index) => String(index)).join('\n');
  expect(await outputsOf([toolset], [{ tool: 'many_parts', input: {} }])).toEqual([text(all)]);
});

it('a tool with a long name is called by it', async () => {
  const tool = toolset.tools.find(({ serverName }) => serverName === LONG)?.name ?? '';
  expect(await outputsOf([toolset], [{ tool, input: {} }])).toEqual([text(`called ${LONG}`)]);
});

it('a tool that never answers is ended by the time of a call, and the server goes on', async () => {
  const calls: readonly ScriptedCall[] = [{ tool: 'never' }, { tool: 'plain', input: { s: 'beside' } }];
  await using opened = await open([toolset], [{ calls }, { calls: [{ tool: 'twice' }] }, { text: 'done' }]);
  const turn = opened.session.submit('go');
  for await (const event of turn) {
    if (event.type === 'tool.completed' && event.toolName === 'plain') break;
  }
  await opened.clock.advance(600_000);
  expect((await turn.result).status).toBe('done');
  expect(outputsIn(opened.events)).toEqual([
    error(expect.stringContaining('600000')),
    text('got {"s":"beside"}'),
    text('called twice'),
  ]);
});

it('progress is told while a call runs', async () => {
  const [progress, outputs] = await late;
  const steps = Array.from({ length: 29 }, (_, index) => ({ progress: index + 1, message: `step ${index + 1}` }));
  expect(progress.slice(0, 29)).toEqual(steps); // the last step comes with the result, or too late
  expect(outputs).toEqual([text('late')]);
});

it('nothing is left of the servers', async () => {
  await holder.session.close();
  expect(await childrenOf()).toEqual([]);
});
