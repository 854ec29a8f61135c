/** Delegates on a page: what a loop within a loop asks, a person answers in the same message. */
import type { UIMessage } from 'ai';
import { defineLoop, defineRig, delegate, memoryStore, type Session } from 'looprig';
import { type ScriptedReply, type ScriptedTool, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { PageChat, serveChat } from './chat-server.ts';
import { partsOf, textOf } from './page.ts';

const child: readonly ScriptedReply[] = [
  { text: 'I pay twice.', calls: [1, 2].map(n => ({ tool: 'pay', input: { n }, id: `p${n}` })) },
  { text: 'Both paid.' },
];

async function open(
  parent: readonly ScriptedReply[],
  replies: readonly ScriptedReply[] = child,
): Promise<{ session: Session; pay: ScriptedTool; look: ScriptedTool }> {
  const pay = scriptedTool('pay', {
    returns: ({ n }) => `paid ${n}`,
    access: ({ n }) => [{ action: 'pay', target: String(n) }],
  });
  const look = scriptedTool('look', { returns: 'seen', sleepMs: 5 });
  const clerk = defineLoop({ name: 'clerk', model: scriptedModel(replies), tools: [pay.definition] });
  const boss = defineLoop({
    name: 'boss',
    model: scriptedModel(parent),
    tools: [delegate(clerk, { description: 'Pays.' }), look.definition],
  });
  const session = await defineRig({ loops: [boss], store: memoryStore(), gate: { ask: true } }).open();
  return { session, pay, look };
}

const both: readonly ScriptedReply[] = [
  {
    text: 'I see to it.',
    calls: [
      { tool: 'clerk', input: { task: 'Pay' }, id: 'd' },
      { tool: 'look', input: {}, id: 'l' },
    ],
  },
  { text: 'All done.' },
];

describe('a delegate that asks', () => {
  it('asks on the part of its call, one gate after the other, once all else of the batch is done', async () => {
    const { session, pay } = await open(both);
    await using server = await serveChat(() => session);
    const page = new PageChat(server.api);
    await page.sendMessage({ text: 'Pay' });
    const part = page.last.parts.find(({ type }) => type === 'tool-clerk');
    expect(part).toMatchObject({
      state: 'approval-requested',
      input: { task: 'Pay' },
      approval: {
        requestReason: 'pay on 1',
        descriptor: { toolName: 'pay', requests: [{ action: 'pay', target: '1' }] },
      },
    });
    expect(page.last.parts.find(({ type }) => type === 'tool-look')).toMatchObject({ state: 'output-available' });

    await page.decide(page.openApprovals[0]!, true);
    expect(page.error).toBeUndefined();
    expect(page.last.parts.find(({ type }) => type === 'tool-clerk')).toMatchObject({
      state: 'approval-requested',
      approval: { requestReason: 'pay on 2' },
    });
    expect(pay.count).toBe(0);

    await page.decide(page.openApprovals[0]!, false, 'once is enough');
    expect(page.error).toBeUndefined();
    expect(pay.runs.map(({ callId }) => callId)).toEqual(['p1']);
    expect(partsOf(page.last)).toEqual([
      ['step-start'],
      ['text', 'I see to it.'],
      ['tool-clerk', 'output-available', { task: 'Pay' }, 'Both paid.'],
      ['tool-look', 'output-available', {}, 'seen'],
      ['step-start'],
      ['text', 'All done.'],
    ]);
    expect(page.last.parts.filter(one => 'approval' in one && one.approval !== undefined)).toEqual([]);
  });

  it('asks a page that is loaded again, which then reads on', async () => {
    const { session, pay } = await open([{ text: 'First.', calls: [{ tool: 'look', input: {}, id: 'l0' }] }, ...both]);
    await using server = await serveChat(() => session);
    const before = new PageChat(server.api);
    await before.sendMessage({ text: 'Pay' });
    const page = new PageChat(server.api, { messages: [before.messages[0]!] });
    await page.resumeStream();
    expect(page.openApprovals).toEqual(before.openApprovals);
    const calls = (message: UIMessage): unknown[] => partsOf(message).filter(part => String(part).startsWith('tool-'));
    expect(calls(page.last)).toEqual(calls(before.last)); // the text of a step that is under way is no event yet
    await page.decide(page.openApprovals[0]!, true);
    await page.decide(page.openApprovals[0]!, true);
    expect(pay.count).toBe(2);
    expect(textOf(page.last)).toBe('First.I see to it.All done.');
  });

  it('closes its gate when the user says something else', async () => {
    const { session, pay } = await open([...both.slice(0, 1), { text: 'As you like.' }]);
    await using server = await serveChat(() => session);
    const page = new PageChat(server.api);
    await page.sendMessage({ text: 'Pay' });
    await page.sendMessage({ text: 'Never mind' });
    expect(page.error).toBeUndefined();
    expect([textOf(page.last), pay.count]).toEqual(['As you like.', 0]);
  });
});
