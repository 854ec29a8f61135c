/** Sessions over HTTP: from the first request to the answer of a turn. */
import { describe, expect, it } from 'vitest';
import { hostOf, isTurnEnd, messagesOf, readUntil, serve } from './setup.ts';

describe('a session over HTTP', () => {
  it('is begun, answers, and is found and listed', async () => {
    await using served = hostOf([{ text: 'Hello.' }]);
    await using server = await serve(served.host);
    const { client } = server;
    expect((await client.ask('GET', '/v1/loops')).body).toEqual({
      loops: [{ name: 'clerk', modes: ['', 'quick', 'careful'] }],
    });
    const begun = await client.ask('POST', '/v1/sessions', { loop: 'clerk' });
    expect(begun.status).toBe(201);
    const { sessionId } = begun.body;
    expect(begun.headers.get('location')).toBe(`/v1/sessions/${sessionId}`);
    const submitted = await client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'Hi' });
    expect(submitted).toMatchObject({ status: 202, body: { isNew: true } });
    const stream = messagesOf(await client.raw('GET', `/v1/sessions/${sessionId}/events`));
    const read = await readUntil(stream, isTurnEnd);
    await stream.return(undefined);
    expect(read[0]).toEqual({ retry: '2000' });
    expect(read.at(-1)?.data).toMatchObject({ type: 'turn.done', text: 'Hello.', turnId: submitted.body.turnId });
    expect((await client.ask('GET', `/v1/sessions/${sessionId}`)).body).toMatchObject({ state: 'done', turns: 1 });
    expect((await client.ask('GET', '/v1/sessions?limit=1')).body.sessions).toMatchObject([{ sessionId, title: 'Hi' }]);
  });
});
