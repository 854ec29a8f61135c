/** Sessions over the SQLite store: what a later process opens is what this one had. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig, type JournalStore, type Message, memoryStore } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { assertPaired, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-session-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const work = scriptedTool('work', {
  returns: input => ({ type: 'json', value: { got: JSON.parse(JSON.stringify(input)) } }),
});

function rigOver(store: JournalStore, replies: readonly ScriptedReply[]) {
  const model = scriptedModel(replies);
  const loop = defineLoop({ name: 'worker', model, tools: [work.definition] });
  return { model, rig: defineRig({ loops: [loop], store }) };
}

const SCRIPT: readonly ScriptedReply[] = [
  {
    text: 'I work.',
    calls: [
      { tool: 'work', input: { n: 1 } },
      { tool: 'work', input: { text: '🙂' } },
    ],
  },
  { text: 'Done.' },
];

test('a session comes back from its file as it was, and its next request is the same as without a restart', async () => {
  const file = join(folder, 'a.db');
  const input = [
    { type: 'text' as const, text: 'Look.' },
    {
      type: 'file' as const,
      mediaType: 'image/png',
      data: { type: 'url' as const, url: new URL('https://example.com/a.png') },
    },
  ];
  const live = memoryStore();
  const histories: (readonly Message[])[] = [];
  const prompts: unknown[] = [];
  for (const [first, second] of [
    [live, live],
    [sqliteStore({ file }), sqliteStore({ file })],
  ] as const) {
    const before = rigOver(first, SCRIPT);
    const session = await before.rig.open();
    await session.run(input);
    await session.close();
    if (first !== live) await first.close?.();
    const after = rigOver(second, [{ text: 'And on.' }]);
    const again = await after.rig.open({ sessionId: session.id });
    expect(again.history).toEqual(session.history);
    assertPaired(again.history);
    histories.push(again.history);
    await again.run('Go on.');
    prompts.push(after.model.requests[0]?.prompt);
    await again.close();
    if (second !== live) await second.close?.();
  }
  const [inMemory, inFile] = histories;
  const withoutIds = (history: readonly Message[] | undefined): string =>
    JSON.stringify(history).replaceAll(/"toolCallId":"[^"]*"/g, '"toolCallId":""');
  expect(withoutIds(inFile)).toBe(withoutIds(inMemory));
  for (const message of inFile ?? []) expect(isFrozenThroughout(message)).toBe(true);
  const url = inFile?.[0]?.role === 'user' ? inFile[0].content[1] : undefined;
  expect(url?.type === 'file' && url.data.type === 'url' && url.data.url).toBeInstanceOf(URL);
  const texts = prompts.map(prompt => JSON.stringify(prompt).replaceAll(/"toolCallId":"[^"]*"/g, ''));
  expect(texts[1]).toBe(texts[0]);
});

test('sessions of one file are listed with what they are', async () => {
  const store = sqliteStore({ file: join(folder, 'a.db') });
  const { rig } = rigOver(store, [...SCRIPT, { text: 'Hello.' }]);
  const one = await rig.open();
  await one.run('The first');
  const two = await rig.open();
  await two.run('The second');
  expect((await rig.sessions()).map(({ title, state, calls }) => ({ title, state, calls }))).toEqual([
    { title: 'The second', state: 'done', calls: 0 },
    { title: 'The first', state: 'done', calls: 2 },
  ]);
  await Promise.all([one.close(), two.close()]);
  await store.close();
});

test('a turn over a store that is full fails, and its session is opened again where there is room', async () => {
  const file = join(folder, 'a.db');
  const small = sqliteStore({ file, maxBytes: 100_000 });
  const session = await rigOver(small, [{ text: 'x'.repeat(200_000) }]).rig.open();
  const result = await session.submit('Talk.').result;
  expect(result).toMatchObject({ status: 'failed', error: { name: 'JournalError', kind: 'store_failed' } });
  await session.close();
  await small.close();
  const roomy = sqliteStore({ file });
  const again = await rigOver(roomy, [{ text: 'Now.' }]).rig.open({ sessionId: session.id });
  expect(await again.run('Again.')).toMatchObject({ status: 'done', text: 'Now.' });
  await again.close();
  await roomy.close();
});

function isFrozenThroughout(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof URL) return true;
  return Object.isFrozen(value) && Object.keys(value).every(key => isFrozenThroughout(Reflect.get(value, key)));
}
