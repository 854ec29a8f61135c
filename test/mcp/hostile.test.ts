/** Servers that mean harm, or know no better: what they do costs their own tools, and nothing else. */
import { DefinitionError, LooprigError } from 'looprig';
import { McpError, mcpToolset } from 'looprig/mcp';
import { describe, expect, it } from 'vitest';
import { childrenOf, odd, open, outputsOf, serverOf, wellBehaved } from './setup.ts';

const ONE_TOOL = '[{ name: "x", inputSchema: { type: "object" } }]';

describe('a server that does not start', () => {
  const refusal = async (options: Parameters<typeof mcpToolset>[0]) => {
    const error: unknown = await mcpToolset(options).then(
      () => undefined,
      reason => reason,
    );
    expect(await childrenOf()).toEqual([]);
    return error;
  };

  it('is named with its command, its exit and its last lines', async () => {
    const program = `for (let i = 0; i < 1000; i++) console.error('line ' + i); process.exitCode = 7;`;
    const error = await refusal({ name: 'broken', command: 'node', args: ['-e', program] });
    expect([McpError.is(error), LooprigError.is(error), DefinitionError.is(error)]).toEqual([true, true, false]);
    expect(error).toMatchObject({
      name: 'McpError',
      kind: 'not_connected',
      server: 'broken',
      message: `MCP server "broken" (node -e ${JSON.stringify(program)}) ended with exit code 7 before its handshake. Its last lines: line 995 | line 996 | line 997 | line 998 | line 999`,
    });
  });

  it('is named with what it wrote where messages belong, if it said nothing elsewhere', async () => {
    const program = `console.log('Usage: give a folder'); process.exit(1)`;
    expect(await refusal(serverOf(program))).toMatchObject({
      message: expect.stringMatching(/exit code 1 before its handshake\. Its last lines: Usage: give a folder$/),
    });
  });

  it('is named where there is no such program, or no such folder', async () => {
    const missing = { name: 'gone', command: 'no-such-program-anywhere', args: ['--stdio'] };
    expect(await refusal(missing)).toMatchObject({
      kind: 'not_connected',
      message:
        'MCP server "gone" (no-such-program-anywhere --stdio) could not be started: there is no such program or folder',
    });
    expect(await refusal({ ...odd(), cwd: '/no/such/folder' })).toMatchObject({ kind: 'not_connected' });
  });

  it('is named where a signal ended it', async () => {
    expect(await refusal(serverOf(`process.kill(process.pid, 'SIGKILL')`))).toMatchObject({
      message: expect.stringContaining('ended by SIGKILL before its handshake'),
    });
  });

  it('is given up after its time, and ended', async () => {
    const silent = serverOf(`setInterval(() => {}, 1000); console.error('thinking')`, { connectTimeoutMs: 1_000 });
    expect(await refusal(silent)).toMatchObject({
      kind: 'not_connected',
      message: expect.stringMatching(/did not finish its handshake within 1000 ms(?:\. Its last lines: thinking)?$/),
    });
  });

  it('is refused for a version of the protocol that nobody knows', async () => {
    const program = wellBehaved(ONE_TOOL, 'return {}').replace('2025-11-25', '1999-01-01');
    expect(await refusal(serverOf(program))).toMatchObject({
      kind: 'not_connected',
      message: expect.stringContaining('1999-01-01'),
    });
  });

  it('is refused for a handshake that is none', async () => {
    const program = `process.stdin.on('data', () => console.log(JSON.stringify({ jsonrpc: '2.0', id: 0, result: 'hello' })))`;
    expect(await refusal(serverOf(program))).toMatchObject({ kind: 'not_connected' });
  });

  it('has no secret in what is said of it', async () => {
    const program = `console.error('bad token ' + process.env.API_TOKEN + ', ' + process.argv.slice(1).join(' ')); process.exit(1)`;
    const args = ['--input-type=module', '-e', program, '--', '--api-key=key-in-args', '--password', 'pw', 'plain'];
    const error = await refusal({ name: 'leaky', command: process.execPath, args, env: { API_TOKEN: 'tok-123456' } });
    const message = String(error);
    expect(message).toContain('bad token [hidden]');
    expect(message).toContain('--api-key=[hidden] --password [hidden] plain');
    expect(JSON.stringify([message, Object.entries(Object(error))])).not.toMatch(/tok-123456|key-in-args/);
    expect(Reflect.get(Object(error), 'cause')).toBeUndefined();
  });
});

describe('a list of tools', () => {
  it('that comes back to a page is read once', async () => {
    const toolset = await mcpToolset(odd({ env: { ODD_LOOP: '1' } }));
    expect(toolset.tools).toHaveLength(27);
    expect(toolset.notices.map(({ kind }) => kind)).toContain('listing_failed');
  });

  it('without an end is refused', async () => {
    const program = wellBehaved('[]', 'return {}').replace(
      `result: { tools }`,
      `result: { tools: [], nextCursor: String(Math.random()) }`,
    );
    await expect(mcpToolset(serverOf(program))).rejects.toMatchObject({
      kind: 'not_listed',
      message: 'MCP server "made" lists more than 100 pages of tools: it was not read to its end',
    });
  });

  it('with thousands of tools is refused, unless some of them are chosen', async () => {
    const many = 'Array.from({ length: 5000 }, (_, i) => ({ name: "t" + i, inputSchema: { type: "object" } }))';
    const program = wellBehaved(many, `return { content: [{ type: 'text', text: params.name }] }`);
    await expect(mcpToolset(serverOf(program))).rejects.toMatchObject({
      kind: 'unusable_tools',
      message: 'MCP server "made" lists 5000 tools, more than 128: choose some with "include", or raise "maxTools"',
    });
    const some = await mcpToolset(serverOf(program, { include: ['t4711', 't3'] }));
    expect(some.produces).toEqual(['t3', 't4711']);
    expect(await outputsOf([some], [{ tool: 't4711' }])).toEqual([{ type: 'text', value: 't4711' }]);
  });

  it.each([
    [
      'that is none',
      `if (method === 'tools/list') return out({ id, result: { tools: 'x' } });`,
      /gave no list of tools$/,
    ],
    [
      'that is refused',
      `if (method === 'tools/list') return out({ id, error: { code: -32601, message: 'no such method' } });`,
      /did not list its tools: the server answered with an error: no such method/,
    ],
    [
      'at which the server dies',
      `if (method === 'tools/list') process.exit(9);`,
      /did not list its tools: the server ended with exit code 9/,
    ],
  ])('%s is refused', async (_what, line, message) => {
    const program = wellBehaved(ONE_TOOL, 'return {}').replace('if (method', `${line} if (method`);
    await expect(mcpToolset(serverOf(program))).rejects.toMatchObject({
      kind: expect.stringMatching(/not_listed/),
      message: expect.stringMatching(message),
    });
    expect(await childrenOf()).toEqual([]);
  });

  it('with entries that are no tools, or have odd names and schemas, gives what can be used', async () => {
    const tools = `[
      null, 1, 'x', {}, { name: 3 }, { name: ' ' }, { name: 'x'.repeat(5000) },
      { name: '__proto__', inputSchema: { type: 'object' } }, { name: 'constructor' },
      { name: 'read_tool_result', inputSchema: { type: 'object' } },
      { name: 'no_schema' }, { name: 'text_schema', inputSchema: 'x' }, { name: 'list', inputSchema: { type: 'array' } },
      { name: 'network', inputSchema: { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/schema.json' }, b: { $ref: '#/$defs/none' } } } },
      { name: 'huge_schema', inputSchema: { type: 'object', description: 'x'.repeat(200000) } },
      { name: 'a.b' }, { name: 'a/b' }, { name: 'a_b' },
      JSON.parse('{ "name": "proto_property", "inputSchema": { "type": "object", "properties": { "__proto__": { "type": "string" } } } }'),
    ]`;
    const toolset = await mcpToolset(
      serverOf(
        wellBehaved(
          tools,
          `return { content: [{ type: 'text', text: params.name + JSON.stringify(params.arguments) }] }`,
        ),
      ),
    );
    expect(toolset.tools.map(({ serverName, name }) => [serverName, name.replace(/_[0-9a-f]{8}$/, '_<hash>')])).toEqual(
      [
        ['__proto__', '__proto___<hash>'],
        ['constructor', 'constructor_<hash>'],
        ['read_tool_result', 'read_tool_result_<hash>'],
        ['no_schema', 'no_schema'],
        ['text_schema', 'text_schema'],
        ['list', 'list'],
        ['network', 'network'],
        ['huge_schema', 'huge_schema'],
        ['a.b', 'a_b_<hash>'],
        ['a/b', 'a_b_<hash>'],
        ['a_b', 'a_b'],
        ['proto_property', 'proto_property'],
      ],
    );
    expect(toolset.notices.filter(({ kind }) => kind === 'tool_skipped')).toHaveLength(7);
    const simplified = toolset.notices.flatMap(({ kind, tool }) => (kind === 'schema_simplified' ? [tool] : []));
    expect(simplified).toEqual([
      ...['constructor', 'no_schema', 'text_schema', 'list', 'network', 'huge_schema', 'a.b', 'a/b', 'a_b'],
      'proto_property',
    ]);
    const named = (serverName: string): string =>
      toolset.tools.find(tool => tool.serverName === serverName)?.name ?? '';
    const calls = ['__proto__', 'constructor', 'a.b', 'a_b'].map(name => ({ tool: named(name), input: { a: 1 } }));
    expect(await outputsOf([toolset], [...calls, { tool: 'network', input: { a: [], b: 1 } }])).toEqual(
      ['__proto__{"a":1}', 'constructor{"a":1}', 'a.b{"a":1}', 'a_b{"a":1}', 'network{"a":[],"b":1}'].map(value => ({
        type: 'text',
        value,
      })),
    );
  });
});

describe('an answer to a call', () => {
  // The server does what it is told as an argument, so that it is listed once.
  const program = wellBehaved(
    '[{ name: "x", inputSchema: { type: "object", properties: { code: { type: "string" } } } }]',
    'return eval("(async () => {" + params.arguments.code + "})()")',
  );

  /** One turn with one call, for which the server does `code`. */
  const answered = async (code: string, options: Parameters<typeof serverOf>[1] = {}) => {
    const toolset = await mcpToolset(serverOf(program, options));
    const [output] = await outputsOf([toolset], [{ tool: 'x', input: { code } }]);
    expect(await childrenOf()).toEqual([]);
    return output;
  };

  /** The same, for each of several codes. */
  const allAnswered = async (codes: readonly string[]) => {
    const toolset = await mcpToolset(serverOf(program));
    return outputsOf(
      [toolset],
      codes.map(code => ({ tool: 'x', input: { code } })),
    );
  };

  it('larger than a message may be ends the connection', async () => {
    const output = await answered(
      `process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":"'); for (let i = 0; i < 100; i++) process.stdout.write('x'.repeat(1000));`,
      { maxMessageBytes: 50_000 },
    );
    expect(output).toEqual({
      type: 'error-text',
      value:
        'MCP server "made", tool "x": the server was ended: it sent a message of more than 50000 bytes; it may or may not have taken effect',
    });
  });

  it('without an end is not read without an end', async () => {
    const output = await answered(`const more = () => process.stdout.write('x'.repeat(100000), more); more();`, {
      maxMessageBytes: 2_000_000,
    });
    expect(output).toMatchObject({ type: 'error-text', value: expect.stringContaining('more than 2000000 bytes') });
  });

  it('is found between lines that are no messages', async () => {
    const output = await answered(`
      process.stdout.write('{"jsonrpc":"2.0","id":' + id + '\\n{]\\nnull\\n[]\\n{}\\n\\u0000\\n{"jsonrpc":"1.0","id":1,"result":{}}\\n');
      out({ id: 999, result: { content: [] } }); out({ id: 'x', result: {} }); out({ id: null, result: {} }); out({ result: {} });
      out({ method: 'notifications/progress', params: { progressToken: 999, progress: 1 } }); out({ method: 'notifications/none' });
      out({ method: 'notifications/progress', params: 'x' }); out({ id: 77, method: 'roots/list' }); out({ id: 78, method: 'nothing/known' });
      return { content: [{ type: 'text', text: 'found' }] };`);
    expect(output).toEqual({ type: 'text', value: 'found' });
  });

  it('that is no result as it should be is told in words', async () => {
    const table: readonly (readonly [result: string, shown: unknown])[] = [
      ['null', expect.stringContaining('neither a result nor an error')],
      ['"text"', expect.stringContaining('neither a result nor an error')],
      ['{ content: "text" }', '(the tool gave no content)'],
      [
        '{ content: [null, 1, {}, { type: "text" }, { type: "text", text: 3 }] }',
        Array(3).fill({ type: 'text', text: '[a part of the unknown kind "" is left out]' }),
      ],
      ['{ content: [{ type: "image", data: "§", mimeType: "image/png" }] }', expect.stringContaining('are no base64')],
      ['{ content: [{ type: "resource", resource: null }] }', expect.stringContaining('is left out')],
      ['{ isError: true }', 'the tool failed, and did not say why'],
    ];
    const outputs = await allAnswered(table.map(([result]) => `out({ id, result: ${result} });`));
    expect(outputs.map(output => 'value' in output && output.value)).toEqual(table.map(([, shown]) => shown));
  });

  it('that is long is cut within the limit of the loop, whatever its characters, also as an error', async () => {
    const text = (more: string) =>
      `return { ${more} content: [{ type: 'text', text: '日🙂'.repeat(200000) }, { type: 'text', text: 'x' }].slice(0, ${more === '' ? 2 : 1}) };`;
    for (const output of await allAnswered([text(''), text('isError: true,')])) {
      const shown = JSON.stringify('value' in output && output.value);
      expect(Buffer.byteLength(shown)).toBeLessThan(103_000);
      expect(shown).toMatch(/1400000 bytes left out here/);
      expect(shown.isWellFormed()).toBe(true);
    }
  });

  it('that is an error keeps being one', async () => {
    const one = await answered(`return { isError: true, content: [{ type: 'text', text: 'no such file' }] };`);
    expect(one).toEqual({ type: 'error-text', value: 'no such file' });
  });

  it('that is an error of the protocol holds no secret and no data', async () => {
    const output = await answered(
      `out({ id, error: { code: -32000, message: 'failed with ' + process.env.TOKEN + ' x'.repeat(2000), data: { detail: process.env.TOKEN } } });`,
      { env: { TOKEN: 'tok-123456' } },
    );
    const text = String(output?.type === 'error-text' && output.value);
    expect(text).toMatch(/^MCP server "made", tool "x": the server answered with an error: failed with \[hidden\] x x/);
    expect(text).not.toContain('tok-123456');
    expect(text.length).toBeLessThan(500);
  });

  it('that never comes is not waited for when the session is closed', async () => {
    const toolset = await mcpToolset(serverOf(wellBehaved(ONE_TOOL, '')));
    const opened = await open([toolset], [{ calls: [{ tool: 'x' }] }]);
    const turn = opened.session.submit('go');
    for await (const event of turn) if (event.type === 'tool.started') break;
    await opened.session.close();
    expect((await turn.result).status).toBe('interrupted');
    expect(await childrenOf()).toEqual([]);
  });
});
