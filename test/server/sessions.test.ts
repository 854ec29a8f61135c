/** Sessions over HTTP: from the first request to the answer of a turn, and all that can be done on the way. */
import { forever } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { type Client, hostOf, isTurnEnd, type Message, messagesOf, readUntil, type Served, serve } from './setup.ts';

const WRITES = (...paths: string[]) => ({ calls: paths.map(path => ({ tool: 'write', input: { path, text: 'x' } })) });

/** A session, with a reader of its events from the beginning. */
class Session {
  readonly #client: Client;
  readonly path: string;
  readonly events: AsyncGenerator<Message>;

  constructor(client: Client, path: string, events: AsyncGenerator<Message>) {
    this.#client = client;
    this.path = path;
    this.events = events;
  }

  ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    this.#client.ask(method, `${this.path}${path}`, body, headers);

  submit = (input: unknown, more: object = {}) => this.ask('POST', '/turns', { input, ...more });

  until = async (type: string) => (await readUntil(this.events, ({ data }) => data?.type === type)).at(-1)?.data;

  ended = async () => (await readUntil(this.events, isTurnEnd)).at(-1)?.data;

  /** The gates that wait, once there are so many. */
  async gates(count: number): Promise<{ gateId: string; summary: string }[]> {
    while (count-- > 0) await this.until('gate.opened');
    return (await this.ask('GET', '')).body.gates;
  }
}

async function withSession(
  replies: Parameters<typeof hostOf>[0],
  act: (session: Session, served: Served) => Promise<void>,
) {
  await using served = hostOf(replies);
  await using server = await serve(served.host);
  const path = `/v1/sessions/${await server.client.begin()}`;
  const events = messagesOf(await server.client.raw('GET', `${path}/events`));
  await act(new Session(server.client, path, events), served);
  await events.return(undefined);
}

describe('sessions over HTTP', () => {
  it('are deleted, but for one whose turn is under way, and listed a page at a time', async () => {
    await using served = hostOf([WRITES('a'), { text: 'Done.' }]);
    await using server = await serve(served.host);
    const { client } = server;
    const ids = [await client.begin(), await client.begin(), await client.begin()];
    const first = await client.ask('GET', '/v1/sessions?limit=2');
    expect(first.body.sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([ids[2], ids[1]]);
    const { place } = first.body.sessions[1];
    const rest = await client.ask('GET', `/v1/sessions?limit=2&after=${encodeURIComponent(place)}`);
    expect(rest.body.sessions).toMatchObject([{ sessionId: ids[0] }]);
    expect(await client.ask('GET', '/v1/sessions?after=x')).toMatchObject({
      status: 422,
      body: { error: { kind: 'invalid_place' } },
    });
    const path = `/v1/sessions/${ids[1]}`;
    expect(await client.ask('DELETE', path)).toMatchObject({ status: 204 });
    for (const method of ['DELETE', 'GET'])
      expect(await client.ask(method, path)).toMatchObject({
        status: 404,
        body: { error: { kind: 'unknown_session' } },
      });
    expect((await client.ask('GET', '/v1/sessions')).body.sessions).toHaveLength(2);
    const busy = `/v1/sessions/${ids[0]}`;
    const events = messagesOf(await client.raw('GET', `${busy}/events`));
    await client.ask('POST', `${busy}/turns`, { input: 'Go.' });
    await readUntil(events, ({ data }) => data?.type === 'gate.opened');
    expect(await client.ask('DELETE', busy)).toMatchObject({ status: 409, body: { error: { kind: 'busy' } } });
    await client.ask('POST', `${busy}/interrupt`, {});
    await readUntil(events, isTurnEnd);
    await expect.poll(async () => (await client.ask('DELETE', busy)).status).toBe(204);
    await readUntil(events, () => false); // the stream ends
  });
});

describe('a session over HTTP', () => {
  it('is begun, answers, and is found and listed', async () => {
    await using served = hostOf([{ text: 'Hello.' }]);
    await using server = await serve(served.host);
    const { client } = server;
    expect((await client.ask('GET', '/v1/loops')).body).toEqual({
      loops: [{ name: 'clerk', modes: ['', 'quick', 'careful'] }],
    });
    const begun = await client.ask('POST', '/v1/sessions', { loop: 'clerk', mode: 'careful' });
    expect(begun.status).toBe(201);
    const { sessionId } = begun.body;
    const path = `/v1/sessions/${sessionId}`;
    expect(begun.headers.get('location')).toBe(path);
    expect((await client.ask('GET', path)).body).toMatchObject({
      state: 'new',
      mode: 'careful',
      isLive: false,
      gates: [],
    });
    const submitted = await client.ask('POST', `${path}/turns`, { input: 'Hi' });
    expect(submitted).toMatchObject({ status: 202, body: { isNew: true } });
    const stream = messagesOf(await client.raw('GET', `${path}/events`));
    const read = await readUntil(stream, isTurnEnd);
    await stream.return(undefined);
    expect(read[0]).toEqual({ retry: '2000' });
    expect(read.at(-1)?.data).toMatchObject({ type: 'turn.done', text: 'Hello.', turnId: submitted.body.turnId });
    expect((await client.ask('GET', path)).body).toMatchObject({ state: 'done', turns: 1 });
    expect((await client.ask('GET', '/v1/sessions?limit=1')).body.sessions).toMatchObject([{ sessionId, title: 'Hi' }]);
    expect((await client.ask('GET', '/v1/sessions?delegates=true')).body.sessions).toHaveLength(1);
  });

  it('takes text, files and web addresses', async () => {
    await withSession([{ text: 'Seen.' }], async session => {
      const input = [
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://a.example/b.png' } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'eA==' }, filename: 'x.txt' },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'x' } },
      ];
      expect(await session.submit(input)).toMatchObject({ status: 202 });
      expect((await session.until('turn.started')).input).toEqual(input);
      await session.ended();
    });
  });

  it('runs a turn under limits of its own', async () => {
    await withSession([forever({ calls: [{ tool: 'look', input: { at: 'a' } }] })], async session => {
      await session.submit('Look.', { limits: { iterations: 2 } });
      expect(await session.ended()).toMatchObject({
        type: 'turn.failed',
        error: { kind: 'tool_limit', limit: { limit: 'iterations' } },
      });
    });
  });

  it('answers what is steered without a turn under limits of its own', async () => {
    await withSession([forever({ calls: [{ tool: 'look', input: { at: 'a' } }] })], async session => {
      expect(await session.ask('POST', '/steer', { input: 'Look.', limits: { iterations: 2 } })).toMatchObject({
        status: 202,
      });
      expect(await session.ended()).toMatchObject({ error: { limit: { limit: 'iterations', maxIterations: 2 } } });
    });
  });

  it('changes its mode from the next turn on', async () => {
    await withSession([{ text: 'One.' }], async session => {
      expect(await session.ask('PUT', '/mode', { mode: 'careful' })).toMatchObject({
        status: 200,
        body: { mode: 'careful' },
      });
      await session.submit('Go.');
      expect(await session.until('turn.started')).toMatchObject({ mode: 'careful' });
      await session.ended();
    });
  });

  it('is steered while a turn runs', async () => {
    await withSession([WRITES('a'), { text: 'Done.' }], async session => {
      const { body } = await session.submit('Write.');
      const [gate] = await session.gates(1);
      expect(await session.ask('POST', '/steer', { input: 'Be quick.' })).toMatchObject({
        status: 202,
        body: { turnId: body.turnId },
      });
      await session.ask('POST', `/gates/${gate?.gateId}`, { decision: 'approve' });
      expect(await session.until('input.steered')).toMatchObject({ input: [{ type: 'text', text: 'Be quick.' }] });
      expect(await session.ended()).toMatchObject({ type: 'turn.done', turnId: body.turnId });
    });
  });

  it('is interrupted, with a reason; where nothing runs, or another turn, that is said', async () => {
    await withSession([WRITES('a'), { text: 'Never.' }], async session => {
      expect((await session.ask('POST', '/interrupt', {})).body).toEqual({ interrupted: false });
      const { body } = await session.submit('Write.');
      await session.gates(1);
      expect((await session.ask('POST', '/interrupt', { turnId: 'another' })).body).toEqual({ interrupted: false });
      const { turnId } = body;
      expect((await session.ask('POST', '/interrupt', { turnId, reason: 'enough' })).body).toEqual({
        interrupted: true,
      });
      expect(await session.ended()).toMatchObject({ type: 'turn.interrupted', reason: 'enough', turnId });
    });
  });

  it('keeps large results, which are given as text', async () => {
    await withSession(
      [{ calls: [{ tool: 'look', input: { at: 'x'.repeat(5_000) } }] }, { text: 'Seen.' }],
      async session => {
        await session.submit('Look.', { limits: { resultBytes: 300 } });
        const { capture } = await session.until('tool.completed');
        await session.ended();
        const kept = await session.ask('GET', `/captures/${capture.id}`);
        expect(kept).toMatchObject({ status: 200, body: `saw ${'x'.repeat(5_000)}` });
        expect(kept.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      },
    );
  });
});

describe('a gate over HTTP', () => {
  it('is approved with other arguments, and what runs are those', async () => {
    await withSession([WRITES('a'), { text: 'Done.' }], async session => {
      await session.submit('Write.');
      const [gate] = await session.gates(1);
      expect(gate?.summary).toBe('write a');
      const unfit = await session.ask('POST', `/gates/${gate?.gateId}`, { decision: 'edit', input: { path: 1 } });
      expect(unfit).toMatchObject({ status: 422, body: { error: { kind: 'invalid_answer' } } });
      const edit = { decision: 'edit', input: { path: 'b', text: 'yes' } };
      expect(await session.ask('POST', `/gates/${gate?.gateId}`, edit)).toMatchObject({ status: 204, body: '' });
      expect(await session.until('gate.resolved')).toMatchObject({ decision: 'approved', input: edit.input });
      expect(JSON.stringify((await session.until('tool.completed')).output)).toContain('wrote 3 characters to b');
      await session.ended();
      expect(await session.ask('POST', `/gates/${gate?.gateId}`, edit)).toMatchObject({
        ...{ status: 409, body: { error: { kind: 'closed_gate' } } },
      });
    });
  });

  it('is approved for always, and the like of it is not asked about again', async () => {
    await withSession([WRITES('src/a'), WRITES('src/b'), { text: 'Done.' }], async session => {
      await session.submit('Write.');
      const [gate] = await session.gates(1);
      const rules = [{ action: 'fs.write', target: 'src/**', decision: 'allow' }];
      expect(await session.ask('POST', `/gates/${gate?.gateId}`, { decision: 'approveAlways', rules })).toMatchObject({
        status: 204,
      });
      const read = await readUntil(session.events, isTurnEnd);
      expect(read.filter(({ data }) => data?.type === 'gate.opened')).toEqual([]);
      expect(read.at(-1)?.data).toMatchObject({ type: 'turn.done', calls: 2 });
    });
  });

  it('is denied, with a reason that the model reads', async () => {
    await withSession([WRITES('a', 'b'), { text: 'Done.' }], async session => {
      await session.submit('Write.');
      const gates = await session.gates(2);
      expect(gates).toHaveLength(2);
      await session.ask('POST', `/gates/${gates[0]?.gateId}`, { decision: 'deny', reason: 'not today' });
      await session.ask('POST', `/gates/${gates[1]?.gateId}`, { decision: 'deny' });
      const read = await readUntil(session.events, isTurnEnd);
      const denied = read.filter(({ data }) => data?.type === 'tool.completed').map(({ data }) => data);
      expect(denied.map(({ outcome }) => outcome)).toEqual(['denied', 'denied']);
      expect(JSON.stringify(denied)).toContain('not today');
    });
  });

  it('takes no answer that is none', async () => {
    await withSession([WRITES('a'), { text: 'Done.' }], async session => {
      await session.submit('Write.');
      const [gate] = await session.gates(1);
      const answers = [
        {},
        { decision: 'maybe' },
        { decision: 'approve', input: {} },
        { decision: 'edit' },
        { decision: 'deny', reason: 1 },
      ];
      for (const answer of answers) {
        expect((await session.ask('POST', `/gates/${gate?.gateId}`, answer)).status).toBe(422);
      }
      const denies = [{ action: 'fs.write', decision: 'deny' }];
      expect(
        (await session.ask('POST', `/gates/${gate?.gateId}`, { decision: 'approveAlways', rules: denies })).status,
      ).toBe(422);
      expect((await session.ask('GET', '')).body.gates).toHaveLength(1);
    });
  });
});
