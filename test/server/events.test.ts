/** Events over HTTP: to readers that come late, come again, stop reading, or are too many. */
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { EVENT_DURABILITY, type SessionEvent } from 'looprig';
import type { SessionHost } from 'looprig/engines';
import { manualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { overlaid } from '../../src/overlaid.ts';
import { direct, hostOf, isTurnEnd, type Message, messagesOf, readUntil, serve } from './setup.ts';

const CALLS = {
  text: 'I look.',
  calls: [
    { tool: 'look', input: { at: 'a' } },
    { tool: 'look', input: { at: 'b' } },
  ],
};

const enduring = (messages: readonly Message[]): number[] =>
  messages.flatMap(({ data }) => (isEnduring(data) ? [data.seq] : []));

function isEnduring(data: { type?: SessionEvent['type'] } | undefined): boolean {
  return data?.type !== undefined && EVENT_DURABILITY[data.type] === 'enduring';
}

/** A host that has nothing but these events, of one session. */
function hostThatTells(events: SessionHost['events']): SessionHost {
  const { host } = hostOf([]);
  return overlaid(host, { find: async () => ({}) as never, events });
}

function delta(seq: number, text: string): SessionEvent {
  const header = { sessionId: 's', loopId: 'l', seq, at: 0 };
  return Object.freeze({ type: 'text.delta', ...header, turnId: 't', stepId: 'p', text });
}

describe('a stream of events', () => {
  it('has the number of each enduring event as its id, and none for what passes', async () => {
    await using served = hostOf([CALLS, { text: 'Done.', deltas: ['Do', 'ne.'] }]);
    await using server = await serve(served.host);
    const sessionId = await server.client.begin();
    const stream = messagesOf(await server.client.raw('GET', `/v1/sessions/${sessionId}/events`));
    await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'Go.' });
    const read = await readUntil(stream, isTurnEnd);
    await stream.return(undefined);
    expect(read.filter(({ data }) => data?.type === 'text.delta').length).toBeGreaterThan(1);
    for (const { id, data } of read)
      if (data !== undefined) expect(id).toBe(isEnduring(data) ? `${data.seq}` : undefined);
    const types = read.flatMap(({ data }) => (isEnduring(data) ? [data.type] : []));
    expect(types.slice(0, 3)).toEqual(['input.received', 'turn.started', 'step.started']);
    expect(types.filter(type => type === 'tool.completed')).toHaveLength(2);
  });

  it('goes on after the last one that a reader had, wherever it was cut off: none is missing, none comes twice', async () => {
    await using served = hostOf([CALLS, { text: 'Done.' }]);
    await using server = await serve(served.host);
    const sessionId = await server.client.begin();
    const path = `/v1/sessions/${sessionId}/events`;
    const follow = async (headers: Record<string, string>, count: number, query = '') => {
      const stream = messagesOf(await server.client.raw('GET', `${path}${query}`, undefined, headers));
      let left = count;
      const read = await readUntil(stream, message => isTurnEnd(message) || (isEnduring(message.data) && --left <= 0));
      await stream.return(undefined);
      return enduring(read);
    };
    await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'Go.' });
    const whole = await follow({}, Number.POSITIVE_INFINITY);
    expect(whole.length).toBeGreaterThan(8);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }),
        fc.boolean(),
        async (cuts, byHeader) => {
          const read: number[] = [];
          for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
            if (read.length === whole.length) break;
            const last = String(read.at(-1) ?? 0);
            const after = byHeader ? { 'last-event-id': last } : {};
            read.push(
              ...(await follow(after as Record<string, string>, cut, byHeader ? '?after=1' : `?after=${last}`)),
            );
          }
          expect(read).toEqual(whole);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('stays open from turn to turn', async () => {
    await using served = hostOf([{ text: 'One.' }, { text: 'Two.' }]);
    await using server = await serve(served.host);
    const sessionId = await server.client.begin();
    const stream = messagesOf(await server.client.raw('GET', `/v1/sessions/${sessionId}/events`));
    for (const text of ['One.', 'Two.']) {
      await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'Go.' });
      expect((await readUntil(stream, isTurnEnd)).at(-1)?.data.text).toBe(text);
    }
    await stream.return(undefined);
  });

  it('says that it is still there to a reader that waits, once for each time that nothing came', async () => {
    const clock = manualClock();
    const { client } = await direct(
      hostThatTells(async function* () {
        await new Promise(() => {});
      }),
      { clock, heartbeatMs: 1_000 },
    );
    const stream = messagesOf(await client.raw('GET', '/v1/sessions/s/events'));
    expect((await stream.next()).value).toEqual({ retry: '2000' });
    for (let beat = 0; beat < 3; beat++) {
      const next = stream.next();
      await clock.advance(999);
      await clock.advance(1);
      expect((await next).value).toEqual({ comment: 'still here' });
    }
  });

  it('says no more than one heartbeat to a reader that did not read for hours', async () => {
    const clock = manualClock();
    const { client } = await direct(
      hostThatTells(async function* () {
        await new Promise(() => {});
      }),
      { clock, heartbeatMs: 1_000 },
    );
    const { body } = await client.raw('GET', '/v1/sessions/s/events');
    const reader = body!.getReader();
    await reader.read();
    await clock.advance(10_000_000);
    const next = reader.read();
    await clock.advance(1_000);
    expect(new TextDecoder().decode((await next).value)).toBe(': still here\n\n');
  });

  it('ends with a reason when the server ends, and a failure says what it was', async () => {
    await using served = hostOf([]);
    const { client, server } = await direct(served.host);
    const sessionId = await client.begin();
    const stream = messagesOf(await client.raw('GET', `/v1/sessions/${sessionId}/events`));
    await stream.next();
    await server.close();
    expect(await readUntil(stream, () => false)).toEqual([{ event: 'end', data: { reason: 'the server ends' } }]);
    const told: unknown[] = [];
    const failing = await direct(
      hostThatTells(async function* () {
        yield delta(1, 'x');
        throw new Error('a secret of the machine');
      }),
      { onError: error => void told.push(error) },
    );
    const broken = await readUntil(messagesOf(await failing.client.raw('GET', '/v1/sessions/s/events')), () => false);
    expect(broken.at(-1)).toMatchObject({ event: 'failure', data: { error: { kind: 'internal', status: 500 } } });
    expect(JSON.stringify(broken)).not.toContain('secret');
    expect(told).toHaveLength(1);
  });

  it('ends with a host that ends', async () => {
    const served = hostOf([]);
    const { client } = await direct(served.host);
    const sessionId = await client.begin();
    const stream = messagesOf(await client.raw('GET', `/v1/sessions/${sessionId}/events`));
    await stream.next();
    await served.host.close();
    expect(await readUntil(stream, () => false)).toMatchObject([{ event: 'end' }]);
  });

  it('leaves nothing behind of readers that go away at once', async () => {
    await using served = hostOf([]);
    await using server = await serve(served.host);
    const sessionId = await server.client.begin();
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const socket = await ask(server.url, `/v1/sessions/${sessionId}/events`);
        if (index % 2 === 0) await new Promise(resolve => socket.once('data', resolve));
        socket.destroy();
      }),
    );
    const open = async () => /looprig_streams_open (\d+)/.exec((await server.client.ask('GET', '/metrics')).body)?.[1];
    while ((await open()) !== '0');
    expect(await open()).toBe('0');
  });

  it('has so many readers and no more; a place is free again when one leaves', async () => {
    await using served = hostOf([]);
    await using server = await serve(served.host, { maxStreams: 2 });
    const sessionId = await server.client.begin();
    const path = `/v1/sessions/${sessionId}/events`;
    const first = messagesOf(await server.client.raw('GET', path));
    const second = messagesOf(await server.client.raw('GET', path));
    await Promise.all([first.next(), second.next()]);
    const refused = await server.client.ask('GET', path);
    expect(refused).toMatchObject({ status: 503, body: { error: { kind: 'too_many_streams' } } });
    expect(refused.headers.get('retry-after')).toBe('2');
    await first.return(undefined);
    let again = await server.client.raw('GET', path);
    while (again.status === 503) again = await server.client.raw('GET', path); // the socket's end takes its way
    const third = messagesOf(again);
    expect((await third.next()).value).toEqual({ retry: '2000' });
    await third.return(undefined);
    await second.return(undefined);
  });
});

describe('a reader that stops reading', () => {
  it('costs the server a bounded number of events, and gets the rest when it reads on', async () => {
    const total = 20_000;
    let told = 0;
    const host = hostThatTells(async function* () {
      for (; told < total; told++) yield delta(told, 'x'.repeat(1_000));
    });
    await using server = await serve(host);
    const socket = await ask(server.url, '/v1/sessions/s/events');
    socket.pause();
    // What the system itself buffers for a socket is some megabytes: the source stands still once that is full.
    let before = -1;
    while (told !== before || told === 0) {
      before = told;
      for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
    }

    expect(told).toBeLessThan(total / 2);
    const stoodAt = told;
    expect(await server.client.ask('GET', '/healthz')).toMatchObject({ status: 200 });
    let text = '';
    socket.setEncoding('utf8').on('data', chunk => (text += chunk));
    socket.resume();
    await new Promise(resolve => socket.on('close', resolve));
    expect(text.match(/"type":"text.delta"/g)).toHaveLength(total);
    expect(stoodAt).toBeLessThan(total);
  });

  it('and then goes away ends its reading of the journal', async () => {
    const ended = Promise.withResolvers<void>();
    const host = hostThatTells(async function* (_sessionId, { signal } = {}) {
      signal?.addEventListener('abort', () => ended.resolve());
      for (let seq = 0; signal?.aborted !== true; seq++) yield delta(seq, 'x'.repeat(10_000));
    });
    await using server = await serve(host);
    const socket = await ask(server.url, '/v1/sessions/s/events');
    socket.pause();
    await new Promise(resolve => setImmediate(resolve));
    socket.destroy();
    await ended.promise;
  });

  it('does not keep the server from ending', async () => {
    const host = hostThatTells(async function* (_sessionId, { signal } = {}) {
      for (let seq = 0; signal?.aborted !== true; seq++) yield delta(seq, 'x'.repeat(10_000));
    });
    const server = await serve(host);
    const socket = await ask(server.url, '/v1/sessions/s/events');
    socket.pause();
    await server.listening.close({ graceMs: 10 });
    socket.destroy();
  });
});

/** A socket that has asked, and reads nothing by itself. */
async function ask(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>(resolve => socket.once('connect', resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  return socket;
}
