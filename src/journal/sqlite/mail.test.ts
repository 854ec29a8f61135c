import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { note, opened } from '../../testing/journal-store-records.ts';
import type { StoreNews } from '../mailbox.ts';
import { sqliteStore } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-mail-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mail = (mailId: string) => ({ mailId, at: 1, content: { type: 'mode', mode: mailId } }) as const;

describe.each([false, true])('two stores on one file (thread: %s)', thread => {
  test('hear of each other’s records and mails, and take one mail of an id', async () => {
    const file = join(folder, 'a.db');
    const [here, there] = [sqliteStore({ file, thread }), sqliteStore({ file, thread })];
    await here.append('a', 0, [opened(1)]);
    const heard: StoreNews[] = [];
    let wake = Promise.withResolvers<void>();
    const stop = here.watch('a', news => {
      heard.push(news);
      wake.resolve();
    });
    const next = async (news: StoreNews): Promise<void> => {
      while (!heard.includes(news)) {
        await wake.promise;
        wake = Promise.withResolvers();
      }
      heard.length = 0;
    };
    await there.append('a', 1, [note(2)]);
    await next('records');
    expect(await there.mailbox.post('a', mail('m'))).toBe(true);
    await next('mails');
    expect(await here.mailbox.post('a', mail('m'))).toBe(false);
    await here.mailbox.remove('a', ['m']);
    expect(await there.mailbox.post('a', mail('n'))).toBe(true);
    await next('mails');
    stop();
    await Promise.all([here.close(), there.close()]);
  });
});

test('a mail that holds what cannot be kept is refused, and leaves those alone that arrive with it', async () => {
  const store = sqliteStore({ file: join(folder, 'a.db') });
  const odd = { mailId: 'odd', at: 1, content: { type: 'answer', gateId: 'g', answer: new Map() as never } } as const;
  const outcomes = await Promise.allSettled([store.mailbox.post('a', odd), store.mailbox.post('a', mail('b'))]);
  expect(outcomes[0]).toMatchObject({
    reason: { kind: 'store_failed', message: 'the mail odd cannot be kept: it holds a Map' },
  });
  expect(await store.mailbox.read('a')).toEqual([mail('b')]);
  await store.close();
});
