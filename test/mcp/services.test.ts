/** The three reference servers, over stdio, and one of them over Streamable HTTP: real tools in a bounded turn. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type McpToolset, mcpToolset } from 'looprig/mcp';
import { collect } from 'looprig/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceProgram } from './services.ts';
import { childrenOf, open, outputsIn, outputsOf } from './setup.ts';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'looprig-services-')));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  expect(await childrenOf()).toEqual([]);
});

const over = (name: string, ...args: readonly string[]) => ({
  ...{ name, command: process.execPath, args: [serviceProgram(`server-${name}`), ...args] },
});

const text = (value: unknown) => ({ type: 'text', value });

describe.each(['stdio', 'http'] as const)('server-everything over %s', way => {
  let server: ChildProcess | undefined;
  let toolset: McpToolset;

  beforeAll(async () => {
    if (way === 'stdio') {
      toolset = await mcpToolset(over('everything', 'stdio'));
      return;
    }
    const port = await freePort();
    server = spawn(process.execPath, [serviceProgram('server-everything'), 'streamableHttp'], {
      env: { PATH: process.env.PATH ?? '', PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (server.stderr !== null) await once(server.stderr, 'data'); // "listening"
    toolset = await mcpToolset({ name: 'everything', url: `http://127.0.0.1:${port}/mcp` });
  });
  afterAll(async () => {
    if (server === undefined) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  });

  it('gives each kind of content as a model can use it, once', async () => {
    const outputs = await outputsOf(
      [toolset],
      [
        { tool: 'echo', input: { message: 'hello' } },
        { tool: 'get-sum', input: { a: 2, b: 3 } },
        { tool: 'get-structured-content', input: { location: 'Chicago' } },
        { tool: 'get-tiny-image', input: {} },
        { tool: 'get-resource-links', input: { count: 2 } },
        { tool: 'get-resource-reference', input: { resourceType: 'Text', resourceId: 1 } },
        { tool: 'get-annotated-message', input: { messageType: 'error', includeImage: true } },
        { tool: 'get-sum', input: { a: 'two' } },
      ],
    );
    const image = {
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: expect.stringMatching(/^iVBOR/) },
    };
    expect(outputs).toEqual([
      text('Echo: hello'),
      text('The sum of 2 and 3 is 5.'),
      { type: 'json', value: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 } },
      {
        type: 'content',
        value: [expect.objectContaining({ type: 'text' }), image, expect.objectContaining({ type: 'text' })],
      },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'Here are 2 resource links to resources available in this server:' },
          {
            type: 'text',
            text: 'Resource link: Blob Resource 1, demo://resource/dynamic/blob/1 (text/plain): Resource 1: plaintext resource',
          },
          {
            type: 'text',
            text: 'Resource link: Text Resource 2, demo://resource/dynamic/text/2 (text/plain): Resource 2: plaintext resource',
          },
        ],
      },
      {
        type: 'content',
        value: [
          expect.objectContaining({ type: 'text' }),
          {
            type: 'text',
            text: expect.stringMatching(
              /^Resource demo:\/\/resource\/dynamic\/text\/1:\nResource 1: This is a plaintext/,
            ),
          },
          expect.objectContaining({ type: 'text' }),
        ],
      },
      { type: 'content', value: [{ type: 'text', text: 'Error: Operation failed' }, image] },
      { type: 'error-text', value: expect.stringContaining('the arguments do not fit the schema of "get-sum"') },
    ]);
  });

  it('runs calls at once, tells their progress, and is interrupted in one of them', async () => {
    const long = { tool: 'trigger-long-running-operation', input: { duration: 60, steps: 600 } };
    const calls = [{ tool: 'echo', input: { message: 'one' } }, long, { tool: 'echo', input: { message: 'two' } }];
    await using opened = await open([toolset], [{ calls }, { calls: [calls[0] ?? long] }, { text: 'done' }]);
    const turn = opened.session.submit('go');
    let echoes = 0;
    for await (const event of turn) {
      if (event.type === 'tool.completed') echoes++;
      if (event.type === 'tool.progress' && echoes === 2) {
        expect(event.update).toMatchObject({ total: 600 });
        break;
      }
    }
    turn.interrupt('enough');
    expect((await turn.result).status).toBe('interrupted');
    expect((await collect(opened.session.submit('again'))).result.status).toBe('done');
    expect(outputsIn(opened.events)).toEqual([
      text('Echo: one'),
      { type: 'error-text', value: expect.stringContaining('may or may not have taken effect') },
      text('Echo: two'),
      text('Echo: one'),
    ]);
  });
});

it('server-filesystem reads without a question, and asks before it writes', async () => {
  await mkdir(join(folder, 'files'));
  await writeFile(join(folder, 'files', 'note.txt'), 'what it says');
  const toolset = await mcpToolset(over('filesystem', join(folder, 'files')));
  const path = join(folder, 'files', 'new.txt');
  const calls = [
    { tool: 'read_text_file', input: { path: join(folder, 'files', 'note.txt') } },
    { tool: 'write_file', input: { path, content: 'written' } },
    { tool: 'read_text_file', input: { path: join(folder, 'elsewhere') } },
  ];
  await using opened = await open([toolset], [{ calls }, { text: 'done' }], {
    gate: { rules: [{ action: 'mcp.call', target: 'filesystem/read_*', decision: 'deny' }] },
  });
  await collect(opened.session.submit('go'));
  const [read, write, outside] = outputsIn(opened.events);
  expect(read).toEqual(text('what it says')); // the server gives it a second time, as structured content
  expect(write).toMatchObject({ type: 'error-text', value: expect.stringContaining('denied') });
  expect(outside).toMatchObject({ type: 'error-text', value: expect.stringContaining('Access denied') });
  await expect(readFile(path)).rejects.toThrow('ENOENT');
});

it('server-memory remembers from one session to the next, and two servers work in one batch', async () => {
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') };
  const memory = await mcpToolset({ ...over('memory'), env });
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes engines'] }];
  await outputsOf([memory], [{ tool: 'create_entities', input: { entities } }]);
  const everything = await mcpToolset({ ...over('everything', 'stdio'), prefix: true });
  const [found, echo] = await outputsOf(
    [memory, everything],
    [
      { tool: 'search_nodes', input: { query: 'Ada' } },
      { tool: 'everything_echo', input: { message: 'beside' } },
    ],
  );
  expect(JSON.stringify(found)).toContain('likes engines');
  expect(echo).toEqual(text('Echo: beside'));
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}
