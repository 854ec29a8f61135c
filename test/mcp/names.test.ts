/** Two servers with tools of one name, a name that providers refuse, and what a call asks permission for. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccessRequest, defineLoop, defineRig, defineTool } from 'looprig';
import { mcpToolset } from 'looprig/mcp';
import { collect, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { childrenOf, odd, open, outputsOf, serverOf, wellBehaved } from './setup.ts';

const tools = (...names: readonly string[]): string =>
  wellBehaved(
    JSON.stringify(names.map(name => ({ name, inputSchema: { type: 'object' } }))),
    `return { content: [{ type: 'text', text: process.env.WHO + ' ' + params.name }] };`,
  );
const server = (name: string, program: string, more = {}) => serverOf(program, { name, env: { WHO: name }, ...more });

it('cases 47 and 49: two servers with one tool name are refused with both named, and work with a prefix', async () => {
  const program = tools('create_item');
  const dry = await mcpToolset(server('dry-run', program));
  const real = await mcpToolset(server('real', program));
  await expect(open([dry, real], [])).rejects.toMatchObject({
    kind: 'duplicate_tool_name',
    tool: 'create_item',
    message: '"dry-run" and "real" both build a tool named "create_item": the model could not tell them apart',
  });
  expect(await childrenOf()).toEqual([]);
  const prefixed = await mcpToolset(server('real', program, { prefix: true }));
  expect(prefixed.produces).toEqual(['real_create_item']);
  const calls = [{ tool: 'real_create_item' }, { tool: 'create_item' }];
  expect(await outputsOf([dry, prefixed], calls)).toEqual([
    { type: 'text', value: 'real create_item' },
    { type: 'text', value: 'dry-run create_item' },
  ]);
});

it('cases 47 and 50: names that differ only in what providers refuse are refused too, and so are those of a tool of the program', async () => {
  const one = await mcpToolset(server('one', tools('basic/search')));
  const other = await mcpToolset(server('other', tools('basic.search')));
  const own = defineTool({ name: 'basic_search', description: 'x', input: { type: 'object' }, execute: () => 'own' });
  const message = (first: string, second: string) => expect.stringContaining(`"${first}" and "${second}" both build`);
  await expect(open([one, other], [])).rejects.toMatchObject({ message: message('one', 'other') });
  await expect(open([own, one], [])).rejects.toMatchObject({ message: message('basic_search', 'one') });
  expect(await outputsOf([one], [{ tool: 'basic_search' }])).toEqual([{ type: 'text', value: 'one basic/search' }]);
  expect(await childrenOf()).toEqual([]);
});

it('one server in two toolsets needs two names', async () => {
  const one = await mcpToolset(odd({ include: ['plain'] }));
  const other = await mcpToolset(odd({ include: ['twice'] }));
  await expect(open([one, other], [])).rejects.toMatchObject({ kind: 'duplicate_definition_name', definition: 'odd' });
});

it('a name that include or exclude misspell is refused before anything runs', async () => {
  await expect(mcpToolset(odd({ include: ['plain', 'twise'] }))).rejects.toMatchObject({
    kind: 'unusable_tools',
    message: expect.stringMatching(/^"include" names "twise", which MCP server "odd" does not list: it lists plain, /),
  });
  await expect(mcpToolset(odd({ exclude: ['dyes'] }))).rejects.toMatchObject({
    message: expect.stringMatching(/^"exclude" names "dyes", which MCP server "odd" does not list/),
  });
  const without = await mcpToolset(odd({ exclude: ['dies', 'huge'] }));
  expect(without.produces).toHaveLength(25);
  await expect(mcpToolset(server('only', tools('x'), { exclude: ['x'] }))).rejects.toMatchObject({
    message: 'MCP server "only" offers no tools but those that are excluded',
  });
  await expect(mcpToolset(server('none', tools()))).rejects.toMatchObject({
    message: 'MCP server "none" offers no tools',
  });
});

const ANNOTATED = wellBehaved(
  JSON.stringify([
    { name: 'look', annotations: { readOnlyHint: true } },
    { name: 'wipe', annotations: { destructiveHint: true, idempotentHint: true } },
    { name: 'add', annotations: { destructiveHint: false } },
    { name: 'odd', annotations: { readOnlyHint: 'yes', idempotentHint: 1 } },
    { name: 'bare' },
  ]),
  `return { content: [{ type: 'text', text: params.name }] };`,
);

async function asked(options: Parameters<typeof serverOf>[1] = {}) {
  const toolset = await mcpToolset(serverOf(ANNOTATED, options));
  const calls = toolset.tools.map(({ name }) => ({ tool: name }));
  const gate = { ask: true, rules: [] };
  const loop = defineLoop({ name: 'asks', model: scriptedModel([{ calls }, { text: 'done' }]), tools: [toolset] });
  await using session = await defineRig({ loops: [loop], gate }).open();
  const requests: AccessRequest[] = [];
  const turn = session.submit('go');
  for await (const event of turn) {
    if (event.type !== 'gate.opened') continue;
    requests.push(...event.requests);
    await session.answer(event.gateId, { decision: 'approve' });
  }
  return { toolset, requests, bound: (await turn.result).status };
}

it('what is read-only asks for nothing; anything else asks for mcp.call on the server and the tool', async () => {
  const { requests, toolset, bound } = await asked();
  expect(bound).toBe('done');
  expect(requests).toEqual([
    {
      action: 'mcp.call',
      target: 'made/wipe',
      description: 'call the tool "wipe" of the MCP server "made", which says that it may destroy something',
    },
    ...['add', 'odd', 'bare'].map(tool => ({
      action: 'mcp.call',
      target: `made/${tool}`,
      description: `call the tool "${tool}" of the MCP server "made"`,
    })),
  ]);
  expect(toolset.tools.map(({ readOnly, idempotent, destructive }) => [readOnly, idempotent, destructive])).toEqual([
    [true, false, false],
    [false, true, true],
    ...Array(3).fill([false, false, false]),
  ]);
});

it('a call may be made again after a crash where the server says that this does no harm, and is believed', async () => {
  const idempotent = async (options: Parameters<typeof serverOf>[1]) => {
    const toolset = await mcpToolset(serverOf(ANNOTATED, options));
    const loop = defineLoop({ name: 'bound', model: scriptedModel([]), tools: [toolset] });
    await using bound = await loop.bind({ sessionId: 'session', loopId: 'loop' });
    return bound.tools.map(({ live }) => live.idempotent);
  };
  expect(await idempotent({})).toEqual([true, true, false, false, false]);
  expect(await idempotent({ trustAnnotations: false })).toEqual(Array(5).fill(false));
});

it('everything asks where the server is not believed', async () => {
  const { requests } = await asked({ trustAnnotations: false });
  expect(requests.map(({ target }) => target)).toEqual(
    ['look', 'wipe', 'add', 'odd', 'bare'].map(tool => `made/${tool}`),
  );
});

it('a tool that has become read-only since it was listed still asks, and one that no longer is asks too', async () => {
  const program = wellBehaved(
    `[{ name: 'x', annotations: { readOnlyHint: true } }, { name: 'y' }]`,
    `return { content: [{ type: 'text', text: params.name }] };`,
    `const { existsSync, writeFileSync } = await import('node:fs');
     if (existsSync(process.env.FLAG)) tools = [{ name: 'x' }, { name: 'y', annotations: { readOnlyHint: true } }];
     else writeFileSync(process.env.FLAG, '');`,
  );
  const folder = await mkdtemp(join(tmpdir(), 'looprig-mcp-'));
  const toolset = await mcpToolset(serverOf(program, { env: { FLAG: `${folder}/flag` } }));
  await using opened = await open([toolset], [{ calls: [{ tool: 'x' }, { tool: 'y' }] }, { text: 'done' }], {
    gate: {},
  });
  await collect(opened.session.submit('go'));
  const outcomes = opened.events.flatMap(event => (event.type === 'tool.completed' ? [event.outcome] : []));
  expect(outcomes).toEqual(['denied', 'denied']);
  await rm(folder, { recursive: true });
});
