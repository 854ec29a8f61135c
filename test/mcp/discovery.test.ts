/** Servers of the protocol's newer family, which know no handshake: they are asked what they know, and each request says who asks. */
import { mcpToolset } from 'looprig/mcp';
import { collect } from 'looprig/testing';
import { expect, it } from 'vitest';
import { childrenOf, notices, open, outputsIn, outputsOf, serverOf } from './setup.ts';

const MODERN = `
  import { createInterface } from 'node:readline';
  const out = v => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...v }) + '\\n');
  let tools = [{ name: 'x', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
  let listening;
  createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params } = JSON.parse(line);
    const result = value => out({ id, result: { resultType: 'complete', ...value } });
    if (method === 'initialize') out({ id, error: { code: -32601, message: 'Method not found' } });
    else if (method === 'server/discover') result({ supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, ttlMs: 0, cacheScope: 'private' });
    else if (method === 'tools/list') result({ tools, ttlMs: 0, cacheScope: 'private' });
    else if (method === 'subscriptions/listen') {
      listening = id;
      out({ method: 'notifications/subscriptions/acknowledged', params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: params.notifications } });
    } else if (method === 'tools/call') {
      const version = params._meta?.['io.modelcontextprotocol/protocolVersion'];
      if (tools.length === 1) {
        tools = [...tools, { name: 'y', inputSchema: { type: 'object' } }];
        out({ method: 'notifications/tools/list_changed', params: { _meta: { 'io.modelcontextprotocol/subscriptionId': listening } } });
      }
      result({ content: [{ type: 'text', text: 'by ' + version }] });
    } else if (id !== undefined) out({ id, error: { code: -32601, message: 'Method not found' } });
  }).on('close', () => process.exit(0));
`;

it('a server without a handshake is spoken to as it wants, and tells when its list changes', async () => {
  const { all, onNotice } = notices();
  const toolset = await mcpToolset(serverOf(MODERN, { onNotice }));
  expect(toolset.produces).toEqual(['x']);
  const calls = [{ tool: 'x' }];
  await using opened = await open([toolset], [{ calls }, { text: 'so' }, { calls }, { text: 'done' }]);
  await collect(opened.session.submit('go'));
  await collect(opened.session.submit('on'));
  expect(outputsIn(opened.events)).toEqual(Array(2).fill({ type: 'text', value: 'by 2026-07-28' }));
  expect(all.map(({ kind, tool }) => [kind, tool])).toEqual([['tool_added', 'y']]);
});

it('a server that refuses both ways is named with what it said to the first', async () => {
  const program = MODERN.replace("'server/discover'", "'nothing'").replace('Method not found', 'not here');
  await expect(mcpToolset(serverOf(program))).rejects.toMatchObject({
    kind: 'not_connected',
    message: expect.stringContaining('not here'),
  });
  expect(await childrenOf()).toEqual([]);
});

it('nothing is left of it', async () => {
  const toolset = await mcpToolset(serverOf(MODERN));
  expect(await outputsOf([toolset], [{ tool: 'x' }])).toHaveLength(1);
  expect(await childrenOf()).toEqual([]);
});
