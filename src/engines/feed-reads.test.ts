/** What a host reads of the journal of a session that lives in it. */
import { defineLoop, defineRig, isTerminal, memoryStore } from 'looprig';
import { createHost } from 'looprig/engines';
import { scriptedModel, scriptedTool } from 'looprig/testing';
import { expect, it } from 'vitest';
import { storeOver } from '../../test/support/store-over.ts';

const STEPS = 20;

it.each([false, true])(
  'is not what it has just written, whether anybody reads its events (%s) or not',
  async isRead => {
    const inner = memoryStore();
    const reads: number[] = [];
    const read = (sessionId: string, fromSeq: number) => {
      reads.push(fromSeq);
      return inner.read(sessionId, fromSeq);
    };
    const store = { ...storeOver(inner, { read }), watch: inner.watch!.bind(inner) };
    const steps = Array.from({ length: STEPS }, (_, index) => ({ calls: [{ tool: 'work', input: { index } }] }));
    const model = scriptedModel([...steps, { text: 'done', deltas: 4 }]);
    const tools = [scriptedTool('work').definition];
    const loop = defineLoop({ name: 'clerk', model, tools, limits: { iterations: 50 } });
    await using host = createHost({ rig: defineRig({ loops: [loop], store }) });
    const sessionId = await host.begin();
    const told = async () => {
      const types: string[] = [];
      for await (const event of host.events(sessionId)) {
        types.push(event.type);
        if (isTerminal(event)) break;
      }
      return types.filter(type => type === 'tool.completed').length;
    };
    const reading = isRead ? told() : undefined;
    await host.submit(sessionId, 'Go.');
    if (reading === undefined) await expect.poll(async () => (await inner.mailbox!.read(sessionId)).length).toBe(0);
    else expect(await reading).toBe(STEPS);
    expect(reads.length).toBeLessThan(STEPS / 2);
    expect(await told()).toBe(STEPS);
  },
);
