/** More than one process, as far as one can play them: gates, resuming, releasing, stores, hosts, and what is shown of a session. */
import { defineLoop, defineRig, GateError, JournalConflictError, memoryStore, type Session } from 'looprig';
import { chatStream } from 'looprig/ai';
import { createHost, localEngine } from 'looprig/engines';
import { readSession, reportHtml } from 'looprig/report';
import { createServer } from 'looprig/server';
import { assertPaired, collect, faultyStore, journalStoreKit, scriptedModel, scriptedTool } from 'looprig/testing';
import { check, holds, type PlatformCheck, same } from './check.ts';
import { resultsIn } from './turn-checks.ts';

const input = { path: 'a.txt' };

/** A loop that writes once and says so; its model answers by what it is shown, in whichever process it is asked. */
function writer(write = scriptedTool('write', { access: () => [{ action: 'fs.write', target: 'a.txt' }] })) {
  const model = () =>
    scriptedModel([
      ({ prompt }) => (prompt.at(-1)?.role === 'tool' ? { text: 'Written.' } : { calls: [{ tool: 'write', input }] }),
      { text: 'Written.' },
    ]);
  const store = memoryStore();
  const rig = (ask = true) => {
    const loop = defineLoop({ name: 'writer', model: model(), tools: [write.definition], drainTimeoutMs: 10 });
    return defineRig({ loops: [loop], store, gate: { ask } });
  };
  return { write, store, rig };
}

async function untilItAsks(session: Session): Promise<string> {
  for await (const event of session.submit('Write.')) if (event.type === 'gate.opened') return event.gateId;
  throw new Error('the turn has ended, and nobody was asked');
}

const STORE_CHECKS = journalStoreKit(() => memoryStore()).map(({ name, run }) =>
  check(`the store in memory: ${name}`, run),
);

export const SESSION_CHECKS: readonly PlatformCheck[] = [
  check('what no rule allows and nobody can be asked about does not run', async () => {
    const { write, rig } = writer();
    await using session = await rig(false).open();
    await session.run('Write.');
    same(write.count, 0);
    holds(resultsIn(session.history)[0], 'permission denied');
  }),

  check('a call that is asked for runs once it is approved, with what a person changed', async () => {
    const { write, rig } = writer();
    await using session = await rig().open();
    const turn = session.submit('Write.');
    for await (const event of turn) {
      if (event.type !== 'gate.opened') continue;
      same(write.count, 0);
      await session.answer(event.gateId, { decision: 'edit', input: { path: 'b.txt' } });
    }
    same([(await turn.result).text, write.runs[0]?.input], ['Written.', { path: 'b.txt' }]);
  }),

  check('a gate is answered in the process that comes after the one that asked, and only once', async () => {
    const { write, rig } = writer();
    const first = await rig().open();
    const gateId = await untilItAsks(first);
    await using second = await rig().open({ sessionId: first.id });
    same(
      second.gates.map(gate => gate.gateId),
      [gateId],
    );
    await second.answer(gateId, { decision: 'approve' });
    same([(await second.resume().result).text, write.count], ['Written.', 1]);
    const late = await second.answer(gateId, { decision: 'deny' }).then(
      () => undefined,
      error => error,
    );
    same(GateError.is(late), true);
    await first.close();
  }),

  check('a turn that is released is taken up from the journal, by which nothing runs twice', async () => {
    const write = scriptedTool('write', { hangs: true });
    const { rig } = writer(write);
    const first = await rig().open();
    const turn = first.submit('Write.');
    for await (const event of turn) if (event.type === 'tool.started') break;
    await first.release();
    same((await turn.result).status, 'released');
    await using second = await rig().open({ sessionId: first.id, resume: 'auto' });
    same((await second.turn?.result)?.text, 'Written.');
    holds(resultsIn(second.history)[0], 'it may or may not have taken effect');
    same(write.count, 1);
  }),

  check('of two processes on one session, the one that was overtaken is refused', async () => {
    const { rig } = writer();
    const first = await rig(false).open();
    await first.run('Write.');
    const second = await rig(false).open({ sessionId: first.id });
    await second.run('Write more.');
    const result = await first.submit('And more.').result;
    same([result.status, result.status === 'failed' && JournalConflictError.is(result.error)], ['failed', true]);
    await Promise.all([first.close(), second.close()]);
  }),

  check('a session is opened again with the history that it had', async () => {
    const { rig } = writer();
    const first = await rig(false).open();
    await first.run('Write.');
    const { history } = first;
    await first.close();
    await using second = await rig(false).open({ sessionId: first.id });
    same(second.history, history);
    assertPaired(second.history);
  }),

  check('a store that fails ends the turn, and loses nothing that it took', async () => {
    const { write } = writer();
    const store = faultyStore(memoryStore(), { 2: { how: 'reject', when: 'after' } });
    const loop = defineLoop({ name: 'l', model: scriptedModel([{ text: 'Hello.' }]), tools: [write.definition] });
    await using session = await defineRig({ loops: [loop], store }).open();
    const { result } = await collect(session.submit('Hi'));
    same([result.status, result.status === 'failed' && result.error.name], ['failed', 'JournalError']);
  }),

  check('a host takes inputs once each, and answers gates of a worker', async () => {
    const { write, rig } = writer();
    const engine = localEngine();
    await using web = createHost({ rig: rig(), engine });
    await using worker = createHost({ rig: rig(), engine, keepMs: 0 });
    await worker.serve();
    const sessionId = await web.begin();
    const { turnId } = await web.submit(sessionId, 'Write.', { idempotencyKey: 'one' });
    for await (const event of web.events(sessionId)) {
      if (event.type === 'gate.opened') await web.answer(sessionId, event.gateId, { decision: 'approve' });
      if (event.type === 'turn.done') break;
    }
    same(await web.submit(sessionId, 'Write.', { idempotencyKey: 'one' }), { turnId, isNew: false });
    same(write.count, 1);
  }),

  check('a server answers web-standard requests, and tells events as they happen', async () => {
    const { rig } = writer();
    const server = await createServer(rig(false), { allowedHosts: ['agent.test'], onError: () => {} });
    const ask = (path: string, body?: object) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const host = { host: 'agent.test' };
      return server.fetch(new Request(`http://agent.test${path}`, body === undefined ? { headers: host } : init));
    };
    const { sessionId } = await (await ask('/v1/sessions', {})).json();
    same((await ask(`/v1/sessions/${sessionId}/turns`, { input: 'Write.' })).status, 202);
    const { body } = await ask(`/v1/sessions/${sessionId}/events`);
    let told = '';
    for await (const text of textsOf(body)) {
      told += text;
      if (told.includes('"type":"turn.done"')) break;
    }
    holds(told, '"type":"tool.completed"');
    await server.close();
  }),

  check('a page with useChat is told a turn as a UI message stream', async () => {
    const { rig } = writer();
    await using session = await rig(false).open();
    const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Write.' }] }];
    const stream = await chatStream(session, { id: session.id, trigger: 'submit-message', messages });
    const types: string[] = [];
    for await (const chunk of valuesOf(stream)) types.push(chunk.type);
    same([types[0], types.at(-1), types.filter(type => type === 'tool-output-error').length], ['start', 'finish', 1]);
  }),

  check('a report of a session is one page without a script', async () => {
    const { rig, store } = writer();
    await using session = await rig(false).open();
    await session.run('Write.');
    const html = reportHtml(await readSession(store, session.id));
    holds(html, 'Written.');
    same(/<script/i.test(html), false);
  }),

  ...STORE_CHECKS,
];

/** As `for await` over the stream, which Chromium has and Safari has not. */
async function* valuesOf<Value>(stream: ReadableStream<Value>): AsyncGenerator<Value> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

async function* textsOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (body === null) throw new Error('the answer has no body');
  const decoder = new TextDecoder();
  for await (const bytes of valuesOf(body)) yield decoder.decode(bytes, { stream: true });
}
