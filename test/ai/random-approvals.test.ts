/** Random batches of calls that ask, answered on a page: whatever is answered in which order, the page ends with what the turn was. */
import type { UIMessage } from 'ai';
import fc from 'fast-check';
import { defineLoop, defineRig, delegate } from 'looprig';
import { chatStream, toUIMessageStream } from 'looprig/ai';
import { assertPaired, forever, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { expect, it } from 'vitest';
import { partsOf, readPage } from './page.ts';

const steps = fc.array(
  fc.record({
    text: fc.boolean(),
    calls: fc.array(fc.constantFrom('free', 'gated', 'clerk'), { minLength: 1, maxLength: 4 }),
  }),
  { maxLength: 3 },
);
const anyNumber = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
/** What the person says, request by request: of each open approval, yes, no, or nothing yet. */
const answers = fc.array(fc.constantFrom('yes', 'no', 'later'), { minLength: 1, maxLength: 20 });

/** The message with the open approvals answered. At least one is, or nothing would ever go on. */
function answered(message: UIMessage, next: () => string): { message: UIMessage; count: number } {
  let count = 0;
  const parts = message.parts.map(part => {
    if (!('approval' in part) || part.state !== 'approval-requested') return part;
    const said = next();
    if (said === 'later' && count > 0) return part;
    count += 1;
    return { ...part, state: 'approval-responded', approval: { ...part.approval, approved: said !== 'no' } };
  });
  return { message: { ...message, parts: parts as UIMessage['parts'] }, count };
}

it('a page that answers approvals in any order ends with the message that a late reader is given', async () => {
  let questionsWithin = 0;
  await fc.assert(
    fc.asyncProperty(steps, answers, fc.boolean(), async (plan, said, stream) => {
      let place = 0;
      const next = (): string => said[place++ % said.length]!;
      const script = plan.map(({ text, calls }, step): ScriptedReply => {
        const named = calls.map((tool, n) => ({ tool, input: { n }, id: `c${step}.${n}` }));
        return { ...(text ? { text: `Step ${step}.`, deltas: 2 } : {}), calls: named };
      });
      const free = scriptedTool('free', { returns: ({ n }) => `free ${n}` });
      const gated = scriptedTool('gated', {
        returns: ({ n }) => ({ n }),
        access: () => [{ action: 'act', target: 'it' }],
      });
      // A loop within the loop: as many calls that ask as the task says, at a time.
      const inner = scriptedTool('inner', { access: () => [{ action: 'act', target: 'it' }] });
      const clerkModel = scriptedModel(
        forever(({ prompt }) => {
          const last = prompt.at(-1)!;
          const asked = last.role === 'user' ? Number(JSON.stringify(last.content).match(/task (\d)/)?.[1]) % 3 : 0;
          return { text: 'Clerk.', calls: Array.from({ length: asked }, (_, n) => ({ tool: 'inner', input: { n } })) };
        }),
      );
      const clerk = delegate(defineLoop({ name: 'clerk', model: clerkModel, tools: [inner.definition], stream }), {
        ...{ description: 'Asks.', input: anyNumber, prompt: ({ n }: { n: number }) => `task ${n}` },
      });
      const loop = defineLoop({
        ...{ name: 'agent', model: scriptedModel([...script, { text: 'Done.' }]), stream },
        tools: [free.definition, gated.definition, clerk],
      });
      const session = await defineRig({ loops: [loop], gate: { ask: true } }).open();
      const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] };
      const request = chatStream(session, { messages: [user] });
      const turn = session.turn!;
      let page = await readPage(await request);
      for (let requests = 0; requests < 50; requests++) {
        const { message, count } = answered(page.message, next);
        if (count === 0) break;
        if (JSON.stringify(message).includes('"toolName":"inner"')) questionsWithin += 1;
        page = await readPage(await chatStream(session, { messages: [user, message] }), message);
        expect(page.errors).toEqual([]);
      }
      expect((await turn.result).status).toBe('done');
      const late = await readPage(toUIMessageStream(turn));
      expect(partsOf(page.message)).toEqual(partsOf(late.message));
      const runs = [...free.runs, ...gated.runs].map(({ callId }) => callId);
      expect(new Set(runs).size).toBe(runs.length);
      assertPaired(session.history);
      await session.close();
    }),
    { numRuns: 150 },
  );
  expect(questionsWithin).toBeGreaterThan(20);
}, 120_000);
