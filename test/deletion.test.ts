/** Deleting sessions by a rig: what goes, what is refused, and what a process that ends in the middle leaves. */
import {
  defineLoop,
  defineRig,
  delegate,
  JournalDamagedError,
  type JournalStore,
  type LoopDefinition,
  memoryStore,
} from 'looprig';
import { forever, scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { storeOver } from './support/store-over.ts';

/** A loop that delegates once a turn to `below`, where there is any, and then answers. */
function loopOf(name: string, below?: LoopDefinition): LoopDefinition {
  const model = scriptedModel(
    forever(({ prompt }) =>
      below !== undefined && prompt.at(-1)?.role === 'user'
        ? { calls: [{ tool: below.name, id: `call-${prompt.length}`, input: { task: 'go' } }] }
        : { text: `${name} is done` },
    ),
  );
  const tools = below === undefined ? [] : [delegate(below, { description: 'Works.' })];
  return defineLoop({ name, model, tools, repeat: false }) as LoopDefinition;
}

/** A rig whose sessions have a delegate, which has one too. */
function familyRig(store: JournalStore = memoryStore()) {
  return defineRig({ loops: [loopOf('top', loopOf('middle', loopOf('low')))], store });
}

async function finished(rig: ReturnType<typeof familyRig>, turns = 1): Promise<string> {
  const session = await rig.open();
  for (let turn = 0; turn < turns; turn++) await session.run('Go.');
  await session.close();
  return session.id;
}

describe('a session that is deleted', () => {
  it('is gone with the sessions of its delegates and of theirs, and others stay', async () => {
    const rig = familyRig();
    const [one, two] = [await finished(rig, 2), await finished(rig)];
    expect(await rig.sessions({ delegates: true })).toHaveLength(5 + 3);
    await rig.delete(one);
    const left = await rig.sessions({ delegates: true });
    expect(left).toHaveLength(3);
    expect(await rig.sessions()).toMatchObject([{ sessionId: two, state: 'done' }]);
    await expect(rig.open({ sessionId: one })).rejects.toMatchObject({ kind: 'unknown_session' });
  });

  it('cannot be deleted twice, and one that never was cannot be either', async () => {
    const rig = familyRig();
    const id = await finished(rig);
    await rig.delete(id);
    for (const unknown of [id, 'never', '', 7 as never, undefined as never]) {
      await expect(rig.delete(unknown)).rejects.toMatchObject({ name: 'SessionError', kind: 'unknown_session' });
    }
  });

  it('takes with it the captures that a call kept which another process had to stop', async () => {
    const rig = familyRig();
    const id = await finished(rig);
    await rig.delete(id);
    const capture = await rig.store.putCapture(id, new Uint8Array([1, 2]));
    await expect(rig.delete(id)).rejects.toMatchObject({ kind: 'unknown_session' });
    expect(await rig.store.getCapture(id, capture)).toBeUndefined();
  });
});

describe('a delete is refused', () => {
  it('while the session is open in this rig, until all who have it open have closed it or let go of it', async () => {
    const rig = familyRig();
    const id = await finished(rig);
    const [one, two] = [await rig.open({ sessionId: id }), await rig.open({ sessionId: id })];
    await expect(rig.delete(id)).rejects.toMatchObject({ name: 'SessionError', kind: 'busy' });
    await one.close();
    await expect(rig.delete(id, { unfinished: true })).rejects.toThrow(`session ${id} is open: close it first`);
    await two.release();
    await rig.delete(id);
    expect(await rig.sessions()).toEqual([]);
  });

  it('while a delegate’s session is open, and nothing of the family is deleted then', async () => {
    const rig = familyRig();
    const id = await finished(rig);
    const children = (await rig.sessions({ delegates: true })).filter(({ parentId }) => parentId === id);
    const other = defineRig({ loops: [loopOf('middle', loopOf('low')), loopOf('top')], store: rig.store });
    const child = await other.open({ sessionId: children[0]!.sessionId });
    await expect(other.delete(id)).rejects.toThrow(`has a delegate whose session ${child.id} is open`);
    expect(await rig.sessions({ delegates: true })).toHaveLength(3);
    await child.close();
    await other.delete(id);
    expect(await rig.sessions({ delegates: true })).toEqual([]);
  });

  it('while its turn has not ended, which may run elsewhere; told to, it deletes it, and whoever runs it is refused as stale', async () => {
    const held = Promise.withResolvers<void>();
    const model = scriptedModel([
      async () => {
        await held.promise;
        return { text: 'too late' };
      },
    ]);
    const store = memoryStore();
    const loop = defineLoop({ name: 'slow', model });
    const [here, elsewhere] = [defineRig({ loops: [loop], store }), defineRig({ loops: [loop], store })];
    const session = await elsewhere.open();
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'step.started') break;
    await expect(here.delete(session.id)).rejects.toMatchObject({ kind: 'busy' });
    await expect(here.delete(session.id)).rejects.toThrow('has a turn that has not ended');
    await here.delete(session.id, { unfinished: true });
    held.resolve();
    expect(await turn.result).toMatchObject({
      status: 'failed',
      error: { name: 'JournalConflictError', actualSeq: 0 },
    });
    expect(await here.sessions()).toEqual([]);
    await session.close();
    expect(await store.find(session.id)).toBeUndefined();
  });

  it('where another has written since it was looked at', async () => {
    const inner = memoryStore();
    const rig = familyRig(
      storeOver(inner, {
        async delete(id, expectedSeq) {
          await inner.append(id, expectedSeq, [{ type: 'mode.changed', mode: '', seq: expectedSeq + 1, at: 1 }]);
          await inner.delete(id, expectedSeq);
        },
      }),
    );
    const id = await finished(rig);
    await expect(rig.delete(id)).rejects.toMatchObject({ name: 'JournalConflictError' });
    expect(await rig.sessions()).toMatchObject([{ sessionId: id }]);
  });
});

describe('a process that ends in the middle of a delete', () => {
  it('leaves the session itself to the last, so that deleting it again deletes the rest', async () => {
    for (let at = 1; at <= 3; at++) {
      const inner = memoryStore();
      let deletes = 0;
      const failing = storeOver(inner, {
        async delete(id, expectedSeq) {
          deletes += 1;
          if (deletes === at) throw new Error('the process ended');
          await inner.delete(id, expectedSeq);
        },
      });
      const id = await finished(familyRig(inner));
      await expect(familyRig(failing).delete(id)).rejects.toThrow('the process ended');
      expect(await inner.find(id)).toBeDefined();
      await familyRig(inner).delete(id);
      expect(await inner.list()).toEqual([]);
    }
  });
});

describe('a session whose journal cannot be read', () => {
  it('can be deleted, with the sessions of its delegates', async () => {
    const inner = memoryStore();
    const id = await finished(familyRig(inner));
    const other = await finished(familyRig(inner));
    const damaged = storeOver(inner, {
      async *read(sessionId, fromSeq) {
        for await (const record of inner.read(sessionId, fromSeq)) {
          if (sessionId === id && record.seq === 4) throw new JournalDamagedError(id, 4, 'planned');
          yield record;
        }
      },
    });
    const rig = familyRig(damaged);
    expect((await rig.sessions()).find(({ sessionId }) => sessionId === id)).toMatchObject({ state: 'damaged' });
    await rig.delete(id);
    expect(await rig.sessions({ delegates: true })).toHaveLength(3);
    expect(await rig.sessions()).toMatchObject([{ sessionId: other, state: 'done' }]);
  });
});

describe('pages of a rig’s list', () => {
  it('are the list, without the sessions of delegates and with them', async () => {
    const rig = familyRig();
    for (let count = 0; count < 7; count++) await finished(rig);
    for (const delegates of [false, true]) {
      const all = await rig.sessions({ delegates });
      const paged = [];
      for (let after: string | undefined; ; ) {
        const page = await rig.sessions({ delegates, limit: 3, ...(after === undefined ? {} : { after }) });
        paged.push(...page);
        after = page.at(-1)?.place;
        if (page.length < 3) break;
      }
      expect(paged).toEqual(all);
    }
    expect(await rig.sessions()).toHaveLength(7);
    await expect(rig.sessions({ after: 'nowhere' })).rejects.toMatchObject({ kind: 'invalid_place' });
  });

  it('have no session that is deleted while they are read', async () => {
    const inner = memoryStore();
    const ids = [await finished(familyRig(inner)), await finished(familyRig(inner))];
    const rig = familyRig(
      storeOver(inner, {
        async *read(sessionId, fromSeq) {
          if (sessionId === ids[0]) await familyRig(inner).delete(sessionId);
          yield* inner.read(sessionId, fromSeq);
        },
      }),
    );
    expect((await rig.sessions()).map(({ sessionId }) => sessionId)).toEqual([ids[1]]);
  });
});
