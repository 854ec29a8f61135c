import { memoryStore } from 'looprig';
import { manualClock } from 'looprig/testing';
import { expect, it } from 'vitest';
import { storeOver } from '../../test/support/store-over.ts';
import { note, opened } from '../testing/journal-store-records.ts';
import { watchOf } from './watch.ts';

const mail = (mailId: string) => ({ mailId, at: 1, content: { type: 'mode', mode: mailId } }) as const;

it('a store that tells nothing is asked twice a second, until nobody listens', async () => {
  const inner = memoryStore();
  const silent = storeOver(inner);
  const clock = manualClock();
  const told: string[] = [];
  const stop = watchOf(silent, inner.mailbox!, clock)('a', news => told.push(news));
  await clock.advance(500);
  expect(told).toEqual([]);
  await inner.append('a', 0, [opened(1)]);
  await clock.advance(500);
  expect(told).toEqual(['records']);
  await inner.mailbox!.post('a', mail('m'));
  await inner.append('b', 0, [opened(1)]);
  await clock.advance(500);
  expect(told).toEqual(['records', 'mails']);
  await inner.mailbox!.remove('a', ['m']);
  await clock.advance(500);
  expect(told).toEqual(['records', 'mails']);
  await inner.append('a', 1, [note(2)]);
  stop();
  await clock.advance(5_000);
  expect(told).toEqual(['records', 'mails']);
});
