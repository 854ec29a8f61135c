/** Sessions that are deleted from a file: killed in the middle, each is there whole or not at all, and no byte of what went is left. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { everyByte, note, numbers } from '../../testing/journal-store-records.ts';
import { sqliteStore } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-delete-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SESSIONS = 40;
const RECORDS = 60;
const KILLS = 8;

/** Deletes the sessions of a file one after another, and says which are gone. */
const DELETE = `
  import { writeSync } from 'node:fs';
  const [file, module] = process.argv.slice(1);
  const { sqliteStore } = await import(module);
  const store = sqliteStore({ file });
  for (const { sessionId, lastSeq } of await store.list()) {
    await store.delete(sessionId, lastSeq);
    writeSync(1, sessionId + '\\n');
  }
`;

async function filled(file: string): Promise<void> {
  const store = sqliteStore({ file, synchronous: 'normal' });
  for (const session of numbers(1, SESSIONS)) {
    for (let seq = 1; seq <= RECORDS; seq += 3)
      await store.append(`s${session}`, seq - 1, [note(seq, 'said in secret'), note(seq + 1), note(seq + 2)]);
    await store.putCapture(`s${session}`, everyByte(20_000));
  }
  await store.close();
}

test(`a process that is killed ${KILLS} times while it deletes leaves each session whole, or nothing of it`, async () => {
  for (const kill of numbers(1, KILLS)) {
    const file = join(folder, `killed-${kill}.db`);
    await filled(file);
    const args = ['--input-type=module', '--eval', DELETE, file, new URL('./index.ts', import.meta.url).href];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const closed = once(child, 'close');
    const gone: string[] = [];
    for await (const piece of child.stdout) {
      gone.push(...String(piece).split('\n').filter(Boolean));
      if (gone.length >= kill * 3) child.kill('SIGKILL');
    }
    await closed;
    const store = sqliteStore({ file });
    const listed = new Set((await store.list()).map(({ sessionId }) => sessionId));
    for (const session of numbers(1, SESSIONS)) {
      const id = `s${session}`;
      const seqs: number[] = [];
      for await (const { seq } of store.read(id, 1)) seqs.push(seq);
      expect(seqs).toEqual(listed.has(id) ? numbers(1, RECORDS) : []);
    }
    for (const id of gone) expect(listed.has(id)).toBe(false);
    await store.close();
  }
}, 60_000);

test('no byte of what was deleted is left in a file that was closed', async () => {
  const file = join(folder, 'bytes.db');
  await filled(file);
  expect(readFileSync(file).includes('said in secret')).toBe(true);
  const store = sqliteStore({ file });
  for (const { sessionId, lastSeq } of await store.list()) await store.delete(sessionId, lastSeq);
  await store.close();
  const left = readFileSync(file);
  expect([left.includes('said in secret'), left.includes(Buffer.from(everyByte(1_000)))]).toEqual([false, false]);
});
