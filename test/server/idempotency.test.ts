/** Requests that are made again: one key is one turn, whoever asks, how often, and whatever process answers. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from 'looprig/sqlite';
import { describe, expect, it } from 'vitest';
import { type Client, hostOf, isTurnEnd, messagesOf, readUntil, rigOf, serve } from './setup.ts';

const REPLIES = [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }];
const key = (text: string) => ({ 'idempotency-key': text });

/** The turns that a session has had, once so many have ended. */
async function turnsOf(client: Client, path: string, count: number): Promise<string[]> {
  const stream = messagesOf(await client.raw('GET', `${path}/events`));
  let left = count;
  const read = await readUntil(stream, message => isTurnEnd(message) && --left === 0);
  await stream.return(undefined);
  return read.filter(({ data }) => data?.type === 'turn.started').map(({ data }) => data.turnId);
}

describe('a key', () => {
  it('is one turn, whether it is used again while that runs or after its end', async () => {
    await using served = hostOf(REPLIES);
    await using server = await serve(served.host);
    const path = `/v1/sessions/${await server.client.begin()}`;
    const submit = (input: string, name: string) => server.client.ask('POST', `${path}/turns`, { input }, key(name));
    const first = await submit('Go.', 'a');
    expect(first).toMatchObject({ status: 202, body: { isNew: true } });
    expect((await submit('Go.', 'a')).body).toEqual({ turnId: first.body.turnId, isNew: false });
    expect(await turnsOf(server.client, path, 1)).toEqual([first.body.turnId]);
    expect((await submit('Go.', 'a')).body).toEqual({ turnId: first.body.turnId, isNew: false });
    const other = await submit('Go.', 'b');
    expect(other.body).toMatchObject({ isNew: true });
    expect(await turnsOf(server.client, path, 2)).toEqual([first.body.turnId, other.body.turnId]);
  });

  it('is one turn for twenty requests at once', async () => {
    await using served = hostOf(REPLIES);
    await using server = await serve(served.host);
    const path = `/v1/sessions/${await server.client.begin()}`;
    const submit = () => server.client.ask('POST', `${path}/turns`, { input: 'Go.' }, key('same'));
    const answers = await Promise.all(Array.from({ length: 20 }, submit));
    expect(new Set(answers.map(({ body }) => body.turnId)).size).toBe(1);
    expect(answers.filter(({ body }) => body.isNew)).toHaveLength(1);
    expect(await turnsOf(server.client, path, 1)).toHaveLength(1);
    expect((await server.client.ask('GET', path)).body).toMatchObject({ turns: 1, state: 'done' });
  });

  it('with another body is refused, and starts nothing', async () => {
    await using served = hostOf(REPLIES);
    await using server = await serve(served.host);
    const path = `/v1/sessions/${await server.client.begin()}`;
    const send = (route: string, input: unknown) => server.client.ask('POST', `${path}/${route}`, { input }, key('a'));
    const refused = { status: 422, body: { error: { kind: 'idempotency_key_reused', status: 422 } } };
    await send('turns', 'Go.');
    expect(await send('turns', 'Stop.')).toMatchObject(refused);
    expect(await send('turns', [{ type: 'text', text: 'Stop.' }])).toMatchObject(refused);
    expect(await send('turns', [{ type: 'text', text: 'Go.' }])).toMatchObject({ status: 202, body: { isNew: false } });
    await turnsOf(server.client, path, 1);
    expect(await send('turns', 'Stop.')).toMatchObject(refused);
    expect((await server.client.ask('GET', path)).body).toMatchObject({ turns: 1 });
  });

  it('belongs to its session', async () => {
    await using served = hostOf(REPLIES);
    await using server = await serve(served.host);
    const [one, other] = [await server.client.begin(), await server.client.begin()];
    for (const sessionId of [one, other]) {
      const answer = await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'Go.' }, key('a'));
      expect(answer.body).toMatchObject({ isNew: true });
    }
  });

  it('is the same turn for a process that comes after', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'looprig-keys-')), 'sessions.db');
    const send = (client: Client, path: string, input: string) =>
      client.ask('POST', `${path}/turns`, { input }, key('a'));
    const inProcess = async (act: (client: Client) => Promise<void>) => {
      const store = sqliteStore({ file });
      const served = hostOf(REPLIES, store);
      const server = await serve(served.host);
      await act(server.client);
      await server.listening.close({ graceMs: 0 });
      await served.host.close();
      await store.close?.();
    };
    let [path, turnId] = ['', ''];
    await inProcess(async client => {
      path = `/v1/sessions/${await client.begin()}`;
      ({ turnId } = (await send(client, path, 'Go.')).body);
      await turnsOf(client, path, 1);
    });
    await inProcess(async client => {
      expect((await send(client, path, 'Go.')).body).toEqual({ turnId, isNew: false });
      expect(await send(client, path, 'Stop.')).toMatchObject({ status: 422 });
      expect((await client.ask('GET', path)).body).toMatchObject({ turns: 1 });
    });
  });
});

describe('a session on a server that ends', () => {
  it('goes on where it was with the next one, and what waits for a person is still there', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'looprig-next-')), 'sessions.db');
    const writes = { calls: [{ tool: 'write', input: { path: 'a', text: 'x' } }] };
    const start = async (replies: Parameters<typeof hostOf>[0]) => {
      const store = sqliteStore({ file });
      const served = hostOf(replies, store);
      const server = await serve(served.host);
      const close = async () => {
        await server.listening.close({ graceMs: 0 });
        await served.host.close();
        await store.close?.();
      };
      return { client: server.client, close };
    };
    const first = await start([writes]);
    const path = `/v1/sessions/${await first.client.begin()}`;
    const { body } = await first.client.ask('POST', `${path}/turns`, { input: 'Write.' });
    const stream = messagesOf(await first.client.raw('GET', `${path}/events`));
    const read = await readUntil(stream, ({ data }) => data?.type === 'gate.opened');
    const closed = first.close();
    expect((await readUntil(stream, () => false)).at(-1)).toMatchObject({ event: 'end' });
    await closed;
    const second = await start([{ text: 'Done.' }]);
    const { gates } = (await second.client.ask('GET', path)).body;
    expect(gates.map(({ gateId }: { gateId: string }) => gateId)).toEqual([read.at(-1)?.data.gateId]);
    await second.client.ask('POST', `${path}/gates/${gates[0].gateId}`, { decision: 'approve' });
    const last = read.findLast(({ id }) => id !== undefined)?.id ?? '';
    const rest = messagesOf(await second.client.raw('GET', `${path}/events`, undefined, { 'last-event-id': last }));
    const events = (await readUntil(rest, isTurnEnd)).flatMap(({ data }) => (data === undefined ? [] : [data.type]));
    await rest.return(undefined);
    expect(events).toContain('gate.resolved');
    expect(events).not.toContain('gate.opened');
    expect(events.at(-1)).toBe('turn.done');
    expect((await second.client.ask('GET', path)).body).toMatchObject({ state: 'done', turns: 1 });
    expect(body.turnId).toBeTypeOf('string');
    await second.close();
  });
});

describe('a server of a rig', () => {
  it('has a host of its own, which ends with it', async () => {
    const { rig } = rigOf([{ text: 'Hello.' }]);
    const server = await serve(rig);
    const path = `/v1/sessions/${await server.client.begin()}`;
    await server.client.ask('POST', `${path}/turns`, { input: 'Go.' });
    expect(await turnsOf(server.client, path, 1)).toHaveLength(1);
    const stream = messagesOf(await server.client.raw('GET', `${path}/events`));
    await stream.next();
    const closed = server.listening.close({ graceMs: 60_000 });
    expect((await readUntil(stream, () => false)).at(-1)).toMatchObject({ event: 'end' });
    await closed;
  });
});
