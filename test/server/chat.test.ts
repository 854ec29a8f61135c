/** A page that uses `useChat`, at a server: AI SDK's own chat over real sockets. */
import { defineLoop, defineRig, delegate } from 'looprig';
import { createHost } from 'looprig/engines';
import { scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { PageChat } from '../ai/chat-server.ts';
import { type Client, direct, hostOf, serve, write } from './setup.ts';

const WRITES = (...paths: string[]) => ({ calls: paths.map(path => ({ tool: 'write', input: { path, text: 'x' } })) });

async function pageAt({ url, client }: { url: string; client: Client }, id?: string): Promise<PageChat> {
  const session = id ?? (await client.begin());
  const { body } = await client.ask('GET', `/v1/chat/${session}`);
  return new PageChat(`${url}/v1/chat`, { id: session, messages: body.messages });
}

/** What a message shows, without what differs from run to run. */
function shown(page: PageChat) {
  return page.messages.map(({ role, parts }) => ({
    role,
    parts: parts.flatMap(part => {
      if (part.type === 'text') return [part.text];
      return 'state' in part && part.type.startsWith('tool-') ? [`${part.type} ${part.state}`] : [];
    }),
  }));
}

describe('a page with useChat', () => {
  it('is answered by a session, with tools and text', async () => {
    await using served = hostOf([
      { text: 'I look.', calls: [{ tool: 'look', input: { at: 'a' } }] },
      { text: 'Seen.' },
    ]);
    await using server = await serve(served.host);
    const page = await pageAt(server);
    await page.sendMessage({ text: 'Look.' });
    expect(page.error).toBeUndefined();
    expect(shown(page)).toEqual([
      { role: 'user', parts: ['Look.'] },
      { role: 'assistant', parts: ['I look.', 'tool-look output-available', 'Seen.'] },
    ]);
    expect(page.last.metadata).toMatchObject({ status: 'done', steps: 2, calls: 1 });
  });

  it('approves and denies, one after another, and is told the rest', async () => {
    await using served = hostOf([WRITES('a', 'b'), { text: 'Done.' }]);
    await using server = await serve(served.host);
    const page = await pageAt(server);
    await page.sendMessage({ text: 'Write.' });
    await page.settled();
    const [first, second] = page.openApprovals;
    expect(page.openApprovals).toHaveLength(2);
    await page.decide(first!, true);
    expect(page.openApprovals).toEqual([second]);
    await page.decide(second!, false, 'not now');
    expect(page.error).toBeUndefined();
    expect(shown(page).at(-1)?.parts).toEqual(['tool-write output-available', 'tool-write output-denied', 'Done.']);
  });

  it('that is loaded again while a turn waits has what was said, and follows the rest', async () => {
    await using served = hostOf([{ text: 'One.' }, WRITES('a'), { text: 'Two.' }]);
    await using server = await serve(served.host);
    const page = await pageAt(server);
    await page.sendMessage({ text: 'First.' });
    await page.sendMessage({ text: 'Second.' });
    await page.settled();
    const again = await pageAt(server, page.id);
    expect(shown(again)).toEqual([
      { role: 'user', parts: ['First.'] },
      { role: 'assistant', parts: ['One.'] },
      { role: 'user', parts: ['Second.'] },
    ]);
    await again.resumeStream();
    await again.settled();
    expect(again.openApprovals).toEqual(page.openApprovals);
    await again.decide(again.openApprovals[0]!, true);
    expect(shown(again).at(-1)?.parts).toEqual(['tool-write output-available', 'Two.']);
    expect((await server.client.raw('GET', `/v1/chat/${page.id}/stream`)).status).toBe(204);
    expect(shown(await pageAt(server, page.id))).toEqual(shown(again));
  });

  it('asks for another answer: to what was answered, what failed, what waits and what was said before', async () => {
    const broken = Object.assign(new Error('no'), { isRetryable: false });
    await using served = hostOf([
      ...[{ text: 'One.' }, { text: 'Two.' }, { error: broken }, { text: 'Three.' }, WRITES('a'), { text: 'Four.' }],
      { text: 'Five.' },
    ]);
    await using server = await serve(served.host);
    const page = await pageAt(server);
    const texts = () => shown(page).map(({ parts }) => parts.join(' '));
    await page.sendMessage({ text: 'A' });
    const { id: messageId } = page.last;
    await page.regenerate();
    expect(texts()).toEqual(['A', 'Two.']);
    await page.sendMessage({ text: 'B' });
    expect(page.status).toBe('error');
    await page.regenerate();
    expect(texts()).toEqual(['A', 'Two.', 'B', 'Three.']);
    await page.sendMessage({ text: 'C' });
    await page.settled();
    expect(page.openApprovals).toHaveLength(1);
    await page.regenerate();
    expect([page.status, ...texts().slice(4)]).toEqual(['ready', 'C', 'Four.']);
    await page.regenerate({ messageId: page.messages[1]!.id });
    expect(texts()).toEqual(['A', 'Five.']);
    expect(page.messages.at(-1)?.id).not.toBe(messageId);
    const whole = shown(await pageAt(server, page.id)).filter(({ role }) => role === 'user');
    expect(whole.map(({ parts }) => parts.join())).toEqual(['A', 'A', 'B', 'B', 'C', 'C', 'A']);
  });

  it('is refused another answer while one is made', async () => {
    await using served = hostOf([{ text: 'Slow.', delayMs: 60_000 }]);
    const { client } = await direct(served.host);
    const id = await client.begin();
    const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const { turnId } = (await client.ask('POST', `/v1/sessions/${id}/turns`, { input: 'Hi' })).body;
    const running = async () => (await client.ask('GET', `/v1/sessions/${id}`)).body.turnId;
    await expect.poll(running).toBe(turnId);
    const again = await client.ask('POST', '/v1/chat', { id, messages: [user], trigger: 'regenerate-message' });
    expect(again).toMatchObject({ status: 409, body: { error: { kind: 'busy' } } });
  });

  it('that is told of steering and files has them in its messages', async () => {
    await using served = hostOf([WRITES('a'), { text: 'Done.' }]);
    await using server = await serve(served.host);
    const page = await pageAt(server);
    const url = 'data:text/plain;base64,eA==';
    await page.sendMessage({ text: 'Write.', files: [{ type: 'file', mediaType: 'text/plain', url }] });
    await page.settled();
    await server.client.ask('POST', `/v1/sessions/${page.id}/steer`, { input: 'Be quick.' });
    await page.decide(page.openApprovals[0]!, true);
    const { messages } = page;
    const again = (await pageAt(server, page.id)).messages;
    expect(again.map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
    expect(again[0]?.parts).toEqual(messages[0]?.parts);
    expect(again.at(-1)?.parts).toEqual(messages.at(-1)?.parts);
  });

  it('answers for a delegate', async () => {
    const writer = defineLoop({
      ...{ name: 'writer', tools: [write] },
      model: scriptedModel([WRITES('a'), { text: 'Written.' }]),
    });
    const lead = defineLoop({
      name: 'lead',
      model: scriptedModel([{ calls: [{ tool: 'writer', input: { task: 'Write.' } }] }, { text: 'It is written.' }]),
      tools: [delegate(writer, { description: 'Writes.' })],
    });
    const rig = defineRig({ loops: [lead, writer], gate: { ask: true } });
    await using host = createHost({ rig });
    await using server = await serve(host);
    const { body } = await server.client.ask('POST', '/v1/sessions', { loop: 'lead' });
    const page = await pageAt(server, body.sessionId);
    await page.sendMessage({ text: 'Write.' });
    await page.settled();
    expect(page.openApprovals).toHaveLength(1);
    const again = await pageAt(server, page.id);
    await again.resumeStream();
    await again.settled();
    expect(again.openApprovals).toEqual(page.openApprovals);
    await again.decide(again.openApprovals[0]!, true);
    expect(again.error).toBeUndefined();
    expect(shown(again).at(-1)?.parts).toEqual(['tool-writer output-available', 'It is written.']);
  });

  it('is refused what a session cannot give', async () => {
    await using served = hostOf([]);
    const { client } = await direct(served.host);
    const id = await client.begin();
    const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const chat = (body: object) => client.ask('POST', '/v1/chat', body);
    const refused = (kind: string, status: number) => ({ status, body: { error: { kind } } });
    expect(await chat({ id: 'none', messages: [user] })).toMatchObject(refused('unknown_session', 404));
    expect(await chat({ id, messages: [] })).toMatchObject(refused('invalid_input', 422));
    expect(await chat({ id })).toMatchObject(refused('invalid_body', 422));
    expect(await chat({ messages: [user] })).toMatchObject(refused('invalid_body', 422));
    expect(await chat({ id, messages: [{ ...user, parts: [] }] })).toMatchObject(refused('invalid_input', 422));
    const nothing = { id: 'm', role: 'assistant', parts: [] };
    expect(await chat({ id, messages: [nothing], trigger: 'regenerate-message' })).toMatchObject(
      refused('invalid_input', 422),
    );
    expect(await chat({ id, messages: [nothing] })).toMatchObject(refused('nothing_to_resume', 409));
    const approval = { type: 'tool-write', toolCallId: 'c', state: 'approval-responded', input: {} };
    const foreign = { ...nothing, parts: [{ ...approval, approval: { id: 'g', approved: true } }] };
    expect(await chat({ id, messages: [foreign] })).toMatchObject(refused('unknown_gate', 404));
    expect(await client.ask('GET', '/v1/chat/none')).toMatchObject(refused('unknown_session', 404));
    expect(await client.ask('GET', '/v1/chat/none/stream')).toMatchObject(refused('unknown_session', 404));
    expect((await client.ask('GET', `/v1/chat/${id}`)).body).toEqual({ id, messages: [] });
  });

  it('that goes away leaves its turn running, and one whose server ends is told so', async () => {
    await using served = hostOf([WRITES('a'), { text: 'Done.' }]);
    const { client, server } = await direct(served.host);
    const id = await client.begin();
    await client.ask('POST', `/v1/sessions/${id}/turns`, { input: 'Write.' });
    while ((await client.ask('GET', `/v1/sessions/${id}`)).body.gates.length === 0);
    const first = await client.raw('GET', `/v1/chat/${id}/stream`);
    await first.body!.cancel();
    expect((await client.ask('GET', `/v1/sessions/${id}`)).body).toMatchObject({ state: 'waiting' });
    await server.close();
    expect((await client.ask('GET', `/v1/chat/${id}/stream`)).status).toBe(503);
  });

  it('whose server ends in the middle of an answer is told so', async () => {
    const held = Promise.withResolvers<void>();
    const slow = async () => {
      await held.promise;
      return { text: 'Late.' };
    };
    await using served = hostOf([slow]);
    const { client, server } = await direct(served.host);
    const id = await client.begin();
    const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const response = await client.raw('POST', '/v1/chat', { id, messages: [user] });
    await server.close();
    const text = await response.text();
    expect(text).toContain('"type":"error","errorText":"the server ends"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    held.resolve();
  });
});
