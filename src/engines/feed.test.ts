import { memoryStore } from 'looprig';
import { manualClock } from 'looprig/testing';
import { expect, it } from 'vitest';
import { storeOver } from '../../test/support/store-over.ts';
import { Feeds } from './feed.ts';
import { watchOf } from './watch.ts';

const broken = new Error('the disk is gone');

/** Something to be read whose next value is what `next` gives. */
const reading = (next: () => Promise<never>) => ({ [Symbol.asyncIterator]: () => ({ next }) });

function feedsOver(next: () => Promise<unknown>) {
  const [clock, inner, errors] = [manualClock(), memoryStore(), [] as unknown[]];
  const store = storeOver(inner, { read: () => reading(next as () => Promise<never>) });
  const watch = watchOf(inner, inner.mailbox!, clock);
  return { errors, feeds: new Feeds({ store, watch, clock, onError: error => errors.push(error) }) };
}

it('a journal that cannot be read is told', async () => {
  const { errors, feeds } = feedsOver(() => Promise.reject(broken));
  await feeds.open('session', 'loop');
  expect(errors).toEqual([broken]);
});

it('a live session that cannot be followed is told', async () => {
  const { errors, feeds } = feedsOver(async () => ({ done: true }));
  const feed = await feeds.open('session', 'loop');
  await feed.follow(reading(() => Promise.reject(broken)));
  expect(errors).toEqual([broken]);
});

it('what fails after the end of a feed concerns nobody', async () => {
  const [first, held] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
  const nexts = [first.promise, held.promise];
  const { errors, feeds } = feedsOver(() => nexts.shift()!);
  first.resolve({ done: true });
  const feed = await feeds.open('session', 'loop');
  const ended = feed.begin();
  feeds.close('session', feed);
  held.reject(broken);
  await ended;
  expect(errors).toEqual([]);
});
