import { defineLoop, defineRig, memoryStore } from 'looprig';
import { manualClock, scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { PAGE_SIZE, type PageOptions, SessionPages } from './session-pages.ts';

/** A store with so many sessions, the list of them, and how often it was read. */
async function listOf(count: number) {
  const clock = manualClock(0);
  const loop = defineLoop({ name: 'clerk', model: scriptedModel([{ text: 'Yes.' }]) });
  const rig = defineRig({ loops: [loop], store: memoryStore(), clock });
  const begin = async (): Promise<string> => {
    await clock.advance(1);
    const session = await rig.open();
    await session.close();
    return session.id;
  };
  const ids: string[] = [];
  while (ids.length < count) ids.unshift(await begin());
  const asked: PageOptions[] = [];
  const pages = new SessionPages(page => {
    asked.push(page);
    return rig.sessions(page);
  });
  const listed = (): readonly string[] => pages.listed?.list.map(({ sessionId }) => sessionId) ?? [];
  return { rig, clock, begin, ids, asked, pages, listed };
}

describe('the pages of the list', () => {
  it('come one after the other, and the last one is known to be the last', async () => {
    const { ids, pages, listed } = await listOf(PAGE_SIZE * 2);
    await pages.refresh();
    expect(listed()).toEqual(ids.slice(0, PAGE_SIZE));
    expect(pages.listed?.isAll).toBe(false);
    await pages.more();
    expect(listed()).toEqual(ids);
    expect(pages.listed?.isAll).toBe(true);
    await pages.more();
    expect(listed()).toEqual(ids);
  });

  it('keep what was read when something new comes to the front, which is all that is read', async () => {
    const { rig, clock, begin, ids, asked, pages, listed } = await listOf(PAGE_SIZE * 2 + 5);
    await pages.refresh();
    await pages.more();
    const old = ids[PAGE_SIZE + 3]!;
    await clock.advance(1);
    const session = await rig.open({ sessionId: old });
    await session.run('Are you there?');
    await session.close();
    const fresh = await begin();
    asked.length = 0;
    await pages.refresh();
    expect(asked).toHaveLength(1);
    expect(listed()).toEqual([fresh, old, ...ids.slice(0, PAGE_SIZE * 2).filter(id => id !== old)]);
    expect(pages.listed?.isAll).toBe(false);
    expect(pages.listed?.list[1]).toMatchObject({ title: 'Are you there?', state: 'done' });
  });

  it('lose what was deleted: at the front at once, further back now and then, and by name', async () => {
    const { rig, ids, pages, listed } = await listOf(PAGE_SIZE * 2);
    await pages.refresh();
    await pages.more();
    const [front, back, named] = [ids[1]!, ids[PAGE_SIZE + 9]!, ids[PAGE_SIZE + 20]!];
    await rig.delete(front);
    await pages.refresh();
    expect(listed()).toEqual(ids.filter(id => id !== front));
    await rig.delete(back);
    await rig.delete(named);
    await pages.forget(named);
    expect(listed()).toEqual(ids.filter(id => id !== front && id !== named));
    for (let refreshes = 0; refreshes < 12; refreshes++) await pages.refresh();
    expect(listed()).toEqual(ids.filter(id => ![front, back, named].includes(id)));
  });

  it('are read again where nothing of the front is as it was', async () => {
    const { begin, ids, pages, listed } = await listOf(PAGE_SIZE + 10);
    await pages.refresh();
    await pages.more();
    const fresh: string[] = [];
    while (fresh.length < PAGE_SIZE + 5) fresh.unshift(await begin());
    await pages.refresh();
    expect(listed()).toEqual([...fresh, ...ids]);
    expect(pages.listed?.isAll).toBe(true);
  });

  it('are there after a failure as before it', async () => {
    const { ids, rig } = await listOf(3);
    let isDown = false;
    const pages = new SessionPages(async page => {
      if (isDown) throw new Error('down');
      return rig.sessions(page);
    });
    await pages.refresh();
    isDown = true;
    await expect(pages.refresh()).rejects.toThrow('down');
    expect(pages.listed?.list).toHaveLength(ids.length);
    isDown = false;
    await expect(pages.refresh()).resolves.toBeUndefined();
  });
});
