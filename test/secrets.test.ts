/** Secrets that a rig and its tools are given: they are where they are used, and in nothing that is kept, shown, counted or told. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig, defineTool, type SessionEvent, toolError } from 'looprig';
import { createHost } from 'looprig/engines';
import { redact } from 'looprig/middleware';
import { openTelemetry } from 'looprig/otel';
import { readSession, reportHtml, reportJson } from 'looprig/report';
import { createServer, serverMetrics } from 'looprig/server';
import { sqliteStore } from 'looprig/sqlite';
import { scriptedModel } from 'looprig/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recorder } from './support/telemetry.ts';

const BOUND = 'canary bound to the rig';
const FOUND = 'canary/found + in a result';
const TOKEN = 'canary-of-the-server-0123';
const CANARIES = [BOUND, FOUND, TOKEN].flatMap(text => [text, encodeURIComponent(text), encodeURI(text), btoa(text)]);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-canaries-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function requireSilent(where: string, text: string): void {
  expect(text.length, where).toBeGreaterThan(0);
  for (const canary of CANARIES) expect(text.includes(canary), `${where} holds ${canary}`).toBe(false);
}

/** Gives what it found in every way in which a tool can give something. */
const look = defineTool({
  name: 'look',
  description: 'Looks, with a password.',
  input: { type: 'object', properties: { way: { type: 'string' } }, required: ['way'] } as const,
  requires: ['secrets'],
  create: async ({ secrets }) => {
    const password = await secrets.get('PASSWORD');
    expect(password).toBe(BOUND);
    return {
      access: ({ way }) => [{ action: 'look', target: way }],
      summary: ({ way }) => `look ${way}`,
      execute({ way }, { progress }) {
        if (way === 'text') return `found ${FOUND} with ${password}`;
        if (way === 'json')
          return { found: [FOUND], nested: { url: `https://a.example/?q=${encodeURIComponent(FOUND)}` } };
        if (way === 'error') return toolError(`not with ${password}`);
        if (way === 'throws') throw new Error(`cannot look with ${password} for ${FOUND}`);
        if (way === 'long') return `${FOUND}\n`.repeat(20_000);
        progress('half');
        return 'nothing';
      },
    };
  },
});

const WAYS = ['text', 'json', 'error', 'throws', 'long', 'none'];

it('secrets of a rig and what is redacted are in no event, record, report, span, figure, answer or file', async () => {
  const telemetry = recorder();
  const metrics = serverMetrics();
  const events: SessionEvent[] = [];
  const file = join(folder, 'sessions.db');
  const store = sqliteStore({ file });
  const model = scriptedModel([{ calls: WAYS.map(way => ({ tool: 'look', input: { way } })) }, { text: 'Done.' }]);
  const rig = defineRig({
    loops: [defineLoop({ name: 'clerk', model, tools: [look], middlewares: [redact({ values: [BOUND, FOUND] })] })],
    ...{ store, secrets: { PASSWORD: BOUND }, gate: { rules: [{ action: '*', decision: 'allow' }] } },
    observers: [
      metrics.observe,
      event => void events.push(event),
      openTelemetry({ ...telemetry.providers, content: true }),
    ],
  });
  const host = createHost({ rig });
  const server = await createServer(host, { token: TOKEN, metrics });
  const ask = async (path: string, body?: object, token: string = TOKEN): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return server.fetch(
      new Request(`http://localhost${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) }),
    );
  };
  const { sessionId } = (await (await ask('/v1/sessions', {})).json()) as { sessionId: string };
  const path = `/v1/sessions/${sessionId}`;
  const stream = (await ask(`${path}/events`)).body!.pipeThrough(new TextDecoderStream()).getReader();
  await ask(`${path}/turns`, { input: 'Go.' });
  let told = '';
  while (!told.includes('"type":"turn.done"')) told += (await stream.read()).value ?? '';
  await stream.cancel();

  requireSilent('the events of a page', told);
  requireSilent('the events of an observer', JSON.stringify(events));
  requireSilent('the requests to the model', JSON.stringify(model.requests));
  for (const other of [path, '/v1/sessions', '/v1/loops', '/openapi.json', '/metrics', '/none']) {
    const response = await ask(other);
    requireSilent(other, JSON.stringify([...response.headers]) + (await response.text()));
  }
  const refused = await ask('/v1/loops', undefined, `${TOKEN}-`);
  requireSilent('a refusal', JSON.stringify([...refused.headers]) + (await refused.text()));
  const view = await readSession(store, sessionId);
  requireSilent('the report', reportHtml(view, { mostCharacters: 100_000 }));
  requireSilent('the report as JSON', reportJson(view));
  const spans = telemetry.begun.map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  expect(spans.length).toBeGreaterThan(WAYS.length);
  requireSilent('the spans', JSON.stringify(spans));

  await server.close();
  await host.close();
  await store.close();
  const kept = await Promise.all((await readdir(folder)).map(name => readFile(join(folder, name), 'latin1')));
  requireSilent('the files of the store', kept.join('\n'));
});
