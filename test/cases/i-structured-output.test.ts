/** Cases of structured output, each in both ways: the provider's own response format, and the control tool. */
import { STRUCTURED_OUTPUT_TOOL_NAME } from 'looprig';
import { type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expectSound, insisting, type OpenedSession, open, outcomes, play, resultsIn, toolsOffered } from './setup.ts';

const OUT = STRUCTURED_OUTPUT_TOOL_NAME;
const output = z.object({ n: z.number() });
type Way = 'native' | 'tool';
const WAYS = ['native', 'tool'] as const;

const out = (n: number, id: string) => ({ tool: OUT, id, input: { n } });

/** The final answer, as a model gives it in this way. */
function answer(way: Way, n: number): ScriptedReply {
  return way === 'native' ? { text: JSON.stringify({ n }) } : { calls: [{ tool: OUT, input: { n } }] };
}

/** A model that gives these replies, and a good answer whenever it is asked after them. */
function answering(way: Way, ...replies: readonly ScriptedReply[]) {
  return insisting(index => replies[index] ?? answer(way, 9));
}

/** One more message on the same session gets a typed answer, and the model was shown valid messages in every request. */
async function expectGoesOn(opened: OpenedSession): Promise<void> {
  expect((await play(opened, 'more')).result).toMatchObject({ status: 'done', output: { n: 9 } });
  expectSound(opened);
}

/** What the requests offer beside the loop's own tools, and whether they hold the answer to its schema. */
function expectAskedFor(way: Way, { model }: OpenedSession, tools: readonly string[]): void {
  for (const { tools: offered = [], responseFormat } of model.requests) {
    expect(offered.map(({ name }) => name)).toEqual(way === 'native' ? tools : [...tools, OUT]);
    expect(responseFormat?.type).toBe(way === 'native' ? 'json' : undefined);
  }
}

const NOT_ALONE = expect.stringContaining(`not taken: call ${OUT} alone`);

describe('the answer given twice in one reply, or beside other calls', () => {
  it('case 71: two answers in one reply are both refused, and the one that comes alone is taken', async () => {
    const model = answering('tool', { calls: [out(1, 'c1'), out(2, 'c2')] }, { calls: [out(3, 'c3')] });
    const opened = await open({ model, output, outputMode: 'tool' });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 3 }, calls: 0 });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', NOT_ALONE],
      ['c2', NOT_ALONE],
      ['c3', 'taken as the final answer'],
    ]);
    expect(outcomes(events)).toEqual([]);
    await expectGoesOn(opened);
  });

  it.each([
    ['before', [{ tool: 'search', id: 'c0' }, out(1, 'c1')]],
    ['after', [out(1, 'c1'), { tool: 'search', id: 'c0' }]],
    ['between', [out(1, 'c1'), { tool: 'search', id: 'c0' }, out(2, 'c2')]],
  ])('case 71: a tool that is called %s the answer runs, and the answer is refused', async (_, calls) => {
    const search = scriptedTool('search', { returns: 'found' });
    const model = answering('tool', { calls }, { calls: [out(3, 'c3')] });
    const opened = await open({ model, tools: [search], output, outputMode: 'tool' });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 3 }, calls: 1, iterations: 1 });
    expect(search.runs.map(({ callId }) => callId)).toEqual(['c0']);
    expect(resultsIn(opened.session.history)).toEqual([
      ...calls.map(({ id, tool }) => [id, tool === 'search' ? 'found' : NOT_ALONE]),
      ['c3', 'taken as the final answer'],
    ]);
    expect(outcomes(events)).toEqual([['c0', 'done']]);
    await expectGoesOn(opened);
  });

  it('case 71: an answer as text beside a call is not final: the tool runs, and the answer after it is taken', async () => {
    const search = scriptedTool('search', { returns: 'found' });
    const early: ScriptedReply = { text: '{"n":1}', calls: [{ tool: 'search', id: 'c0' }] };
    const model = answering('native', early, answer('native', 2));
    const opened = await open({ model, tools: [search], output, outputMode: 'native' });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 2 }, text: '{"n":2}', calls: 1 });
    expect([search.count, resultsIn(opened.session.history)]).toEqual([1, [['c0', 'found']]]);
    await expectGoesOn(opened);
  });

  it('case 71: answers by the control tool, where it was not offered, leave no call unanswered either', async () => {
    const search = scriptedTool('search', { returns: 'found' });
    const calls = [out(1, 'c1'), { tool: 'search', id: 'c0' }, out(2, 'c2')];
    const model = answering('native', { calls }, answer('native', 3));
    const opened = await open({ model, tools: [search], output, outputMode: 'native' });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 3 }, calls: 1 });
    expect(resultsIn(opened.session.history).map(([id]) => id)).toEqual(['c1', 'c0', 'c2']);
    expect(search.count).toBe(1);
    await expectGoesOn(opened);
  });
});

describe.each(WAYS)('structured output beside tools (%s)', way => {
  it('case 73: tools work, and the closing answer needs no unit of the limits', async () => {
    const a = scriptedTool('a', { returns: 'done' });
    const model = answering(way, { calls: [{ tool: 'a', id: 'c1' }] }, answer(way, 1));
    const opened = await open({ model, tools: [a], output, outputMode: way, limits: { iterations: 1, calls: 1 } });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 1 }, iterations: 1, calls: 1, steps: 2 });
    expect(result).not.toHaveProperty('limited');
    expect(a.count).toBe(1);
    expectAskedFor(way, opened, ['a']);
    await expectGoesOn(opened);
  });

  it('case 73: answers that do not fit need none either', async () => {
    const a = scriptedTool('a');
    const unfit = way === 'native' ? { text: '{"n":"x"}' } : { calls: [{ tool: OUT, input: { n: 'x' } }] };
    const model = answering(way, { calls: [{ tool: 'a' }] }, unfit, unfit, answer(way, 1));
    const opened = await open({ model, tools: [a], output, outputMode: way, limits: { iterations: 1, calls: 1 } });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 1 }, iterations: 1, steps: 4 });
    expectAskedFor(way, opened, ['a']);
    await expectGoesOn(opened);
  });

  it('case 73: a model that goes on to call tools fails at the limit, or gives the typed answer there', async () => {
    for (const atLimit of ['fail', 'answer'] as const) {
      const a = scriptedTool('a');
      const asks: ScriptedReply = { calls: [{ tool: 'a' }] };
      const model = answering(way, asks, asks);
      const opened = await open({ model, tools: [a], output, outputMode: way, limits: { iterations: 1 }, atLimit });
      const { result } = await play(opened);
      expect(result).toMatchObject(
        atLimit === 'fail'
          ? { status: 'failed', error: { kind: 'tool_limit', limit: 'iterations' } }
          : { status: 'done', output: { n: 9 }, limited: { limit: 'iterations' } },
      );
      expect(a.count).toBe(1);
      await expectGoesOn(opened);
    }
  });

  it.each(['json_tool_call', 'final_output', `${OUT}2`, 'json', 'StructuredOutput'])(
    'case 74: an answer by a function of the model’s own, %s, is an unknown tool, and the model is asked again',
    async name => {
      const a = scriptedTool('a');
      const model = answering(way, { calls: [{ tool: name, id: 'c1', input: { n: 1 } }] }, answer(way, 2));
      const opened = await open({ model, tools: [a], output, outputMode: way });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', output: { n: 2 }, steps: 2 });
      expect(resultsIn(opened.session.history)[0]).toEqual(['c1', expect.stringContaining(`unknown tool "${name}"`)]);
      expect(outcomes(events)).toEqual([['c1', 'refused']]);
      expect(a.count).toBe(0);
      await expectGoesOn(opened);
    },
  );

  it('case 74: a model that insists on its own function comes to an end', async () => {
    const model = insisting(() => ({ calls: [{ tool: 'json_tool_call', input: { n: 1 } }] }));
    const opened = await open({ model, output, outputMode: way });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { limit: 'repeat' }, steps: 6 });
    expectSound(opened);
  });
});

it('case 74: a tool of the loop that has such a name is that tool, and no answer', async () => {
  const own = scriptedTool('json_tool_call', { returns: 'ran' });
  for (const way of WAYS) {
    const model = answering(way, { calls: [{ tool: 'json_tool_call', id: 'c1', input: { n: 1 } }] }, answer(way, 2));
    const opened = await open({ model, tools: [own], output, outputMode: way });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 2 } });
    expect(resultsIn(opened.session.history)[0]).toEqual(['c1', 'ran']);
    expect(toolsOffered(model)[0]).toEqual(way === 'native' ? ['json_tool_call'] : ['json_tool_call', OUT]);
    await expectGoesOn(opened);
  }
  expect(own.count).toBe(2);
});
