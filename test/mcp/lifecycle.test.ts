/** A server's life with a session: started, lost, reached again, interrupted, changed, ended, and nothing left behind. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mcpToolset } from 'looprig/mcp';
import { collect } from 'looprig/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isRunning, pidsIn } from '../support/processes.ts';
import { childrenOf, notices, odd, open, outputsIn, serverOf, wellBehaved } from './setup.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-mcp-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
  expect(await childrenOf()).toEqual([]);
});

const DIED = 'MCP server "odd", tool "dies": the server ended with exit code 3; it may or may not have taken effect';

it('each session has a server of its own, which ends with it', async () => {
  const toolset = await mcpToolset(odd());
  expect(await childrenOf()).toEqual([]);
  const one = await open([toolset], []);
  const other = await open([toolset], []);
  const children = await childrenOf();
  expect(children).toHaveLength(2);
  await one.session.close();
  expect(await childrenOf()).toHaveLength(1);
  await other.session.close();
  expect(await Promise.all(children.map(isRunning))).toEqual([false, false]);
});

it('sessions share one server where they are told to, which ends with the last of them', async () => {
  const toolset = await mcpToolset(odd({ shared: true }));
  expect(await childrenOf()).toEqual([]);
  const one = await open([toolset], []);
  const other = await open([toolset], [{ calls: [{ tool: 'twice' }] }, { text: 'done' }]);
  expect(await childrenOf()).toHaveLength(1);
  await one.session.close();
  await collect(other.session.submit('go'));
  expect(outputsIn(other.events)).toEqual([{ type: 'text', value: 'called twice' }]);
  await other.session.close();
  expect(await childrenOf()).toEqual([]);
  const later = await open([toolset], []);
  expect(await childrenOf()).toHaveLength(1);
  await later.session.close();
});

it('a server that dies in a call fails the calls that wait for it, and the next step and the next turn have a new one', async () => {
  const toolset = await mcpToolset(odd());
  const calls = [{ tool: 'never' }, { tool: 'dies' }];
  const plain = { calls: [{ tool: 'plain', input: { s: 'again' } }] };
  await using opened = await open(
    [toolset],
    [
      ...[{ calls }, plain, { text: 'one' }],
      ...[{ calls: [{ tool: 'dies' }] }, { text: 'two' }, plain, { text: 'three' }],
    ],
  );
  const before = await childrenOf();
  for (const input of ['go', 'on', 'and on'])
    expect((await collect(opened.session.submit(input))).result.status).toBe('done');
  expect(outputsIn(opened.events)).toEqual([
    { type: 'error-text', value: DIED.replace('"dies"', '"never"') },
    { type: 'error-text', value: DIED },
    { type: 'text', value: 'got {"s":"again"}' },
    { type: 'error-text', value: DIED },
    { type: 'text', value: 'got {"s":"again"}' },
  ]);
  expect(await childrenOf()).not.toEqual(before);
});

it('a server that dies in every call is started again five times, and no more', async () => {
  const toolset = await mcpToolset(odd());
  const dies = Array.from({ length: 8 }, (_, index) => ({ calls: [{ tool: 'dies', input: { index } }] }));
  await using opened = await open([toolset], [...dies, { text: 'done' }]);
  await collect(opened.session.submit('go'));
  const shown = outputsIn(opened.events).map(output => String('value' in output && output.value));
  expect(shown.map(value => value.startsWith(DIED))).toEqual([...Array(6).fill(true), false, false]);
  expect(shown.at(-1)).toContain('it is not started again in this session');
});

it('several calls run at once; of those, an interrupt cancels what still runs at the server', async () => {
  const file = join(folder, 'cancelled');
  const program = wellBehaved(
    '[{ name: "quick", inputSchema: { type: "object" } }, { name: "slow", inputSchema: { type: "object" } }]',
    `if (params.name === 'quick') return { content: [{ type: 'text', text: 'quick' }] };`,
    `createInterface({ input: process.stdin }).on('line', line => {
       const { method, params } = JSON.parse(line);
       if (method === 'notifications/cancelled') writeFileSync(${JSON.stringify(file)}, String(params.requestId) + '.');
     });
     const { writeFileSync } = await import('node:fs');`,
  );
  const toolset = await mcpToolset(serverOf(program));
  const calls = [{ tool: 'quick' }, { tool: 'slow' }, { tool: 'quick' }];
  await using opened = await open([toolset], [{ calls }, { calls: [{ tool: 'quick' }] }, { text: 'done' }]);
  const turn = opened.session.submit('go');
  let quick = 0;
  for await (const event of turn) {
    if (event.type === 'tool.completed' && event.toolName === 'quick' && ++quick === 2) break;
  }
  const running = await childrenOf();
  turn.interrupt('enough');
  expect((await turn.result).status).toBe('interrupted');
  expect(await pidsIn(file)).toHaveLength(1);
  const slow = outputsIn(opened.events)[1];
  expect(slow).toEqual({ type: 'error-text', value: expect.stringContaining('may or may not have taken effect') });
  expect((await collect(opened.session.submit('once more'))).result.status).toBe('done');
  expect(outputsIn(opened.events).at(-1)).toEqual({ type: 'text', value: 'quick' });
  expect(await childrenOf()).toEqual(running); // the server went on
});

it('a call that takes too long is cancelled at the server, which may be deaf to that', async () => {
  const toolset = await mcpToolset(odd({ timeoutMs: 1_000, env: { ODD_DEAF: '1' } }));
  const replies = [{ calls: [{ tool: 'never' }] }, { calls: [{ tool: 'twice' }] }, { text: 'done' }];
  await using opened = await open([toolset], replies);
  const turn = opened.session.submit('go');
  for await (const event of turn) if (event.type === 'tool.started') break;
  await opened.clock.advance(1_000);
  expect((await turn.result).status).toBe('done');
  expect(outputsIn(opened.events)).toEqual([
    { type: 'error-text', value: expect.stringContaining('1000 ms') },
    { type: 'text', value: 'called twice' },
  ]);
});

it('what ignores its closed input and SIGTERM is killed, with what it has started', async () => {
  const file = join(folder, 'pids');
  const stubborn = `process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); setInterval(() => {}, 1000);`;
  const program = wellBehaved(
    '[{ name: "x", inputSchema: { type: "object" } }]',
    'return {};',
    `process.exit = () => {};
     ${stubborn}
     const { spawn } = await import('node:child_process');
     const { writeFileSync } = await import('node:fs');
     const child = spawn(process.execPath, ['-e', ${JSON.stringify(stubborn)}], { stdio: 'inherit' });
     writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + child.pid + '.');`,
  );
  const toolset = await mcpToolset(serverOf(program, { graceMs: 50 }));
  await rm(file);
  const opened = await open([toolset], []);
  const pids = await pidsIn(file);
  expect(pids).toHaveLength(2);
  expect(await Promise.all(pids.map(isRunning))).toEqual([true, true]);
  await opened.session.close();
  expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]);
});

it('closing a session does not wait for a server that is being started again', async () => {
  const file = join(folder, 'starts');
  const program = wellBehaved(
    '[{ name: "x", inputSchema: { type: "object" } }]',
    'process.exit(3);',
    `const { appendFileSync, readFileSync } = await import('node:fs');
     appendFileSync(${JSON.stringify(file)}, '1 ');
     if (readFileSync(${JSON.stringify(file)}, 'utf8').length >= 6) {
       appendFileSync(${JSON.stringify(file)}, '.');
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     }`,
  );
  const toolset = await mcpToolset(serverOf(program));
  const calls = [{ tool: 'x' }];
  const opened = await open([toolset], [{ calls }, { calls }]);
  const turn = opened.session.submit('go');
  await pidsIn(file); // it was started for the third time, and will not say a word
  await opened.session.close();
  expect((await turn.result).status).toBe('interrupted');
});

it('nothing is left of a server when the bind fails after it, or its own start does', async () => {
  const toolset = await mcpToolset(odd());
  const file = join(folder, 'started');
  const once = `const { existsSync, writeFileSync } = await import('node:fs');
    if (existsSync(${JSON.stringify(file)})) { console.error('only once'); process.exit(4); }
    writeFileSync(${JSON.stringify(file)}, '');`;
  const tools = '[{ name: "y", inputSchema: { type: "object" } }]';
  const fails = await mcpToolset(serverOf(wellBehaved(tools, 'return {};', once)));
  await expect(open([toolset, fails], [])).rejects.toMatchObject({
    kind: 'factory_failed',
    definition: 'made',
    message: expect.stringMatching(/ended with exit code 4 before its handshake\. Its last lines: only once$/),
  });
  expect(await childrenOf()).toEqual([]);
});

it('a list that changes is read again: other arguments are checked and told in the next turn, gone tools are refused, new ones are reported', async () => {
  const program = wellBehaved(
    '[{ name: "change", inputSchema: { type: "object" } }, { name: "gone", inputSchema: { type: "object" } }, { name: "other", inputSchema: { type: "object", properties: { a: { type: "string" } } } }]',
    `if (params.name !== 'change') return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
     tools = [tools[0], { name: 'other', inputSchema: { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] } }, { name: 'new', inputSchema: { type: 'object' } }];
     out({ method: 'notifications/tools/list_changed' });
     return { content: [{ type: 'text', text: 'changed' }] };`,
  );
  const { all, onNotice } = notices();
  const toolset = await mcpToolset(serverOf(program, { onNotice }));
  const calls = [{ tool: 'gone' }, { tool: 'other', input: { a: 'x' } }, { tool: 'other', input: { b: 1 } }];
  await using opened = await open(
    [toolset],
    [{ calls: [{ tool: 'change' }] }, { calls }, { text: 'so' }, { text: 'done' }],
  );
  await collect(opened.session.submit('go'));
  await collect(opened.session.submit('on'));
  const schemas = opened.model.requests.map(({ tools }) => tools?.find(({ name }) => name === 'other'));
  expect(
    schemas.map(tool => Object.keys((tool as { inputSchema: { properties: object } }).inputSchema.properties)),
  ).toEqual([...[['a'], ['a'], ['a']], ['b']]);
  const [, gone, old, now] = outputsIn(opened.events);
  expect(gone).toEqual({
    type: 'error-text',
    value: 'MCP server "made", tool "gone": the server no longer has this tool',
  });
  expect(old).toEqual({
    type: 'error-text',
    value: expect.stringContaining('the server has changed what it takes, to {"type":"object","properties":{"b"'),
  });
  expect(now).toEqual({ type: 'text', value: '{"b":1}' });
  expect(all.map(({ kind, tool }) => [kind, tool])).toEqual([
    ['tool_changed', 'other'],
    ['tool_added', 'new'],
    ['tool_removed', 'gone'],
  ]);
});

it('a server that always says that its list has changed is asked for it once between two calls', async () => {
  const file = join(folder, 'lists');
  const program = wellBehaved(
    '[{ name: "x", inputSchema: { type: "object" } }]',
    `for (let i = 0; i < 30; i++) {
       out({ method: 'notifications/tools/list_changed' });
       await new Promise(done => setTimeout(done, 5));
     }
     return { content: [{ type: 'text', text: String(id) }] };`,
    `const { appendFileSync } = await import('node:fs');
     createInterface({ input: process.stdin }).on('line', line => {
       if (JSON.parse(line).method === 'tools/list') appendFileSync(${JSON.stringify(file)}, 'list\\n');
     });`,
  );
  const toolset = await mcpToolset(serverOf(program));
  const once = { calls: [{ tool: 'x' }] };
  await using opened = await open([toolset], [once, once, once, { text: 'done' }]);
  await collect(opened.session.submit('go'));
  expect(outputsIn(opened.events)).toHaveLength(3);
  const lists = (await readFile(file, 'utf8')).trim().split('\n').length;
  expect(lists).toBeLessThanOrEqual(2 + 3 * 2); // two to begin with; then one when it is said, and one before the next call
});
