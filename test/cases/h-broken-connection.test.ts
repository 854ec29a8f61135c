/** Cases of a connection that breaks while the model answers. */
import { ModelError } from 'looprig';
import { type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, insisting, open, outcomes, play, reached, resultsIn, saying } from './setup.ts';

const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const call = (id: string, n: number) => ({ tool: 'a', id, input: { n } });

/** The parts of a streamed call: the start of the stream, three about its arguments, and the call itself; then comes the finish. */
const AFTER_CALL = 5;

const BREAKS: readonly (readonly [string, Partial<ScriptedReply>])[] = [
  ['is lost', { error: lost, errorAfter: AFTER_CALL }],
  ['is lost without a word', { errorAfter: AFTER_CALL }],
  ['brings an error', { error: lost, errorAfter: AFTER_CALL, errorAsPart: true }],
  ['ends as interrupted, in a provider’s own word', { finishReason: 'interrupted' }],
];

describe('a reply that breaks off after a call was streamed', () => {
  it.each(BREAKS)(
    'case 70: a connection that %s is tried again so often and no more, and no call runs',
    async (_, broken) => {
      for (const modelRetries of [0, 2, 5]) {
        const a = scriptedTool('a');
        const model = insisting(() => ({ text: 'I look.', calls: [call('c1', 1)], ...broken }));
        const opened = await open({ model, tools: [a], modelRetries });
        const { result, events } = await play(opened);
        expect(result).toMatchObject({
          status: 'failed',
          error: { kind: 'stream_broken', attempts: modelRetries + 1 },
          calls: 0,
        });
        expect(ModelError.is(result.status === 'failed' && result.error)).toBe(true);
        expect([a.count, model.count]).toEqual([0, modelRetries + 1]);
        expect(events.filter(({ type }) => type === 'tool.called' || type === 'tool.started')).toEqual([]);
        const kept = opened.session.history.flatMap(({ content }) => [...content]);
        expect(kept.filter(part => typeof part === 'object' && part.type === 'tool-call')).toEqual([]);
        await expectNextTurn(opened);
      }
    },
  );

  it.each(BREAKS)(
    'case 70: after a connection that %s only the calls of the reply that came whole run',
    async (_, broken) => {
      const a = scriptedTool('a', ({ n }) => `result ${n}`);
      const half: ScriptedReply = { calls: [call('c1', 1)], ...broken };
      const model = saying(half, { calls: [call('c1', 2), call('c2', 3)] }, { text: 'done' });
      const opened = await open({ model, tools: [a] });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2, iterations: 1 });
      expect(a.runs.map(({ input }) => input.n)).toEqual([2, 3]);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', 'result 2'],
        ['c2', 'result 3'],
      ]);
      expect(outcomes(events)).toEqual([
        ['c1', 'done'],
        ['c2', 'done'],
      ]);
      await expectNextTurn(opened);
    },
  );

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    'case 70: wherever it breaks (after %i parts), nothing of it runs before it has come whole',
    async errorAfter => {
      const a = scriptedTool('a');
      const both = { calls: [call('c1', 1), call('c2', 2)] };
      const model = saying({ ...both, error: lost, errorAfter }, both, { text: 'done' });
      const opened = await open({ model, tools: [a] });
      expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect(a.runs.map(({ callId }) => callId)).toEqual(['c1', 'c2']);
      expect(model.count).toBe(3);
      await expectNextTurn(opened);
    },
  );

  it('case 70: an error that the provider calls final is not tried again', async () => {
    const a = scriptedTool('a');
    const refused = Object.assign(new Error('no credit'), { isRetryable: false });
    const model = insisting(() => ({ calls: [call('c1', 1)], error: refused, errorAfter: AFTER_CALL }));
    const opened = await open({ model, tools: [a] });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { attempts: 1, cause: refused } });
    expect([a.count, model.count]).toEqual([0, 1]);
    await expectNextTurn(opened);
  });

  it('case 70: a stream that stands still after the call runs nothing of it, and an interrupt ends it', async () => {
    const a = scriptedTool('a');
    const opened = await open({
      model: saying({ calls: [call('c1', 1)], hangAfter: AFTER_CALL, deaf: true }),
      tools: [a],
    });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.input.delta');
    await opened.clock.advance(1_000);
    turn.interrupt();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', calls: 0 });
    expect([a.count, resultsIn(opened.session.history)]).toEqual([0, []]);
    await expectNextTurn(opened);
  });

  it('case 70: without a stream a failed request has no calls, and is tried again as often', async () => {
    const a = scriptedTool('a');
    const model = insisting(() => ({ calls: [call('c1', 1)], error: lost }));
    const opened = await open({ model, tools: [a], stream: false });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { attempts: 3 } });
    expect([a.count, model.count]).toEqual([0, 3]);
    await expectNextTurn(opened);
  });
});
