/** The server that plays recordings, asked without a provider package between. */
import type { Recording } from 'looprig/testing';
import { expect, it } from 'vitest';
import { piecesOf } from './pieces.ts';
import { type ReplayOptions, startReplay } from './replay-server.ts';

const SSE = 'data: {"n":1}\r\n\r\ndata: {"say":"Zürich 🦅"}\r\n\r\n';

const recording: Recording = {
  name: 'two of them',
  provider: 'openai',
  api: 'openai-chat',
  model: 'gpt-test',
  exchanges: [
    { request: null, response: { status: 200, headers: { 'content-type': 'text/event-stream' }, sse: SSE } },
    { request: null, response: { status: 418, headers: { 'x-of': 'it' }, body: { error: 'a pot' } } },
  ],
};

async function play(options: ReplayOptions) {
  const server = await startReplay(recording, options);
  const ask = async (body = '{}'): Promise<Response> =>
    fetch(`${server.urlFor(recording.name)}/v1/x?y=1`, { method: 'POST', body, headers: { authorization: 'secret' } });
  return { ...server, ask };
}

it('gives the recorded responses in their order, and then 410', async () => {
  await using server = await play({});
  const first = await server.ask('{"a":1}');
  expect([first.status, first.headers.get('content-type'), await first.text()]).toEqual([
    200,
    'text/event-stream',
    SSE,
  ]);
  const second = await server.ask('no JSON');
  expect([second.status, second.headers.get('x-of'), await second.json()]).toEqual([418, 'it', { error: 'a pot' }]);
  const third = await server.ask();
  expect([third.status, await third.text()]).toEqual([410, expect.stringContaining('has only 2 responses')]);
  expect(server.received).toMatchObject([
    { index: 0, path: '/v1/x?y=1', body: { a: 1 }, text: '{"a":1}', sent: Buffer.byteLength(SSE), ended: 'whole' },
    { index: 1, body: 'no JSON', ended: 'whole' },
    { index: 2, ended: 'exhausted' },
  ]);
  expect(server.received[0]?.headers.authorization).toBe('(set)');
});

it('starts over when it is reset', async () => {
  await using server = await play({ fail: { index: 0, status: 529 } });
  const asked = async (): Promise<number[]> => [(await server.ask()).status, (await server.ask()).status];
  expect(await asked()).toEqual([529, 200]);
  server.reset();
  expect(server.received).toEqual([]);
  expect(await asked()).toEqual([529, 200]);
});

it('answers with an error once, and then with what was recorded', async () => {
  const headers = { 'retry-after': '7' };
  await using server = await play({ fail: { index: 0, status: 503, headers, body: { error: { message: 'full' } } } });
  const failed = await server.ask();
  expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '7']);
  expect(await failed.json()).toEqual({ error: { message: 'full' } });
  expect(await (await server.ask()).text()).toBe(SSE);
  expect(server.received.map(({ index, ended }) => [index, ended])).toEqual([
    [0, 'failed'],
    [0, 'whole'],
  ]);
});

it('breaks off the connection, before a response or in it', async () => {
  await using mute = await play({ fail: { index: 0, status: 0 } });
  await expect(mute.ask()).rejects.toThrow('fetch failed');
  await using server = await play({ cut: { index: 0, bytes: 9 } });
  await expect(server.ask().then(response => response.text())).rejects.toThrow();
  expect(server.received).toMatchObject([{ sent: 9, ended: 'cut' }]);
});

it('says what it plays where it is asked for something else', async () => {
  await using server = await play({});
  const answers = [
    await fetch(`${server.url}/r/other/v1`, { method: 'POST' }),
    await fetch(server.urlFor(recording.name)),
    await fetch(server.url, { method: 'POST' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(server.received).toEqual([]);
});

it.each(['events', 'whole', 'awkward', 7, 1_000] as const)(
  'cuts a body (%s) into pieces that are the whole of it',
  split => {
    const bytes = Buffer.from(SSE);
    const pieces = piecesOf(bytes, split, 1);
    expect(Buffer.concat(pieces).toString()).toBe(SSE);
    expect(pieces.every(piece => piece.length > 0)).toBe(true);
    if (split === 'events') expect(pieces.map(String)).toEqual(['data: {"n":1}\r\n\r\n', SSE.slice(17)]);
    if (split === 7) expect(pieces.slice(0, -1).every(piece => piece.length === 7)).toBe(true);
  },
);

it('cuts awkwardly inside of characters and between CR and LF, and at the same places for the same seed', () => {
  const bytes = Buffer.from(SSE);
  const ends = (seed: number): number[] => {
    let end = 0;
    return piecesOf(bytes, 'awkward', seed).map(piece => (end += piece.length));
  };
  expect(ends(1)).toEqual(ends(1));
  expect(ends(1)).not.toEqual(ends(2));
  for (const seed of [1, 2, 3]) {
    expect(ends(seed)).toEqual(expect.arrayContaining([bytes.indexOf('ü') + 1, bytes.indexOf('\r') + 1]));
    for (const byte of [1, 2, 3]) expect(ends(seed)).toContain(bytes.indexOf('🦅') + byte);
  }
});
