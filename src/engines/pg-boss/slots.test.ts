import { describe, expect, it } from 'vitest';
import { resolvePgBoss } from './options.ts';
import { openSlots, type Queue } from './slots.ts';

const options = resolvePgBoss({ url: 'postgres://somebody@127.0.0.1/nowhere', concurrency: 3 });
const acts = { run: async () => {}, cancel: () => {} };

/** What is open of a queue whose `work` fails at its n-th call, and whose `offWork` may fail too. */
function queueThatFails(at: number, offWorkFails = false) {
  const open = new Set<string>();
  let calls = 0;
  const queue = {
    async work() {
      calls += 1;
      if (calls === at) throw new Error('no connection');
      open.add(`slot ${calls}`);
      return `slot ${calls}`;
    },
    async offWork(_queue: string, { id }: { readonly id: string }) {
      open.delete(id);
      if (offWorkFails) throw new Error('not off');
    },
    notifyWorker() {},
    getDb: () => ({
      async listen() {
        open.add('ear');
        return { close: async () => void open.delete('ear') };
      },
    }),
  };
  return { open, queue: queue as unknown as Queue };
}

describe('the slots of a worker', () => {
  it('are all open, until they are closed', async () => {
    const { open, queue } = queueThatFails(9);
    const serving = await openSlots(queue, options, acts);
    expect([...open]).toEqual(['ear', 'slot 1', 'slot 2', 'slot 3']);
    await serving.close();
    expect(open.size).toBe(0);
  });

  it.each([1, 2, 3])('are none where the one in place %i cannot be opened: nothing is left behind', async at => {
    for (const offWorkFails of [false, true]) {
      const { open, queue } = queueThatFails(at, offWorkFails);
      await expect(openSlots(queue, options, acts)).rejects.toThrow('no connection');
      expect([...open]).toEqual([]);
    }
  });

  it('that cannot be closed are told, and the ear is closed all the same', async () => {
    const { open, queue } = queueThatFails(9, true);
    const serving = await openSlots(queue, options, acts);
    await expect(serving.close()).rejects.toThrow('not off');
    expect(open.size).toBe(0);
  });
});
