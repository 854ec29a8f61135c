/** Typed answers: by the provider's own response format and by the control tool, alone, beside other calls, and at a limit. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AnyLanguageModel, defineLoop, defineRig, OutputError, STRUCTURED_OUTPUT_TOOL_NAME } from 'looprig';
import { type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expectSound, insisting, type OpenedSession, open, play, resultsIn, saying } from './cases/setup.ts';

const output = z.object({ n: z.number() });
const NATIVE_SCHEMA = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
};

/** The final answer in either way. */
const answers = {
  native: (text: string, more: ScriptedReply = {}): ScriptedReply => ({ text, ...more }),
  tool: (text: string, more: ScriptedReply = {}): ScriptedReply => ({
    calls: [{ tool: STRUCTURED_OUTPUT_TOOL_NAME, inputText: text }],
    ...more,
  }),
};

/** A model that gives these replies, and good answers after them. */
function giving(outputMode: 'native' | 'tool', ...replies: readonly ScriptedReply[]) {
  return insisting(index => replies[index] ?? answers[outputMode]('{"n": 9}'));
}

/** One more message on the same session gets its answer, and every request was a valid one. */
async function expectGoesOn(opened: OpenedSession): Promise<void> {
  expect((await play(opened, 'more')).result).toMatchObject({ status: 'done', output: { n: 9 } });
  expectSound(opened);
}

describe.each(['native', 'tool'] as const)('an answer given by way of %s', outputMode => {
  const answer = answers[outputMode];
  const search = () => scriptedTool('search', { returns: 'found' });

  it('is typed, after tools ran', async () => {
    const tool = search();
    const model = giving(outputMode, { calls: [{ tool: 'search', id: 's' }] }, answer('{"n": 1}'));
    const opened = await open({ model, tools: [tool], output, outputMode });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({
      status: 'done',
      output: { n: 1 },
      text: '{"n": 1}',
      calls: 1,
      iterations: 1,
      steps: 2,
    });
    expect(tool.runs).toHaveLength(1);
    const named = events.filter(event => 'toolName' in event && event.toolName !== 'search');
    expect(named).toEqual([]);
    await expectGoesOn(opened);
  });

  it('needs no unit of the limits', async () => {
    const model = giving(outputMode, { calls: [{ tool: 'search' }] }, answer('{"n": 1}'));
    const opened = await open({ model, tools: [search()], output, outputMode, limits: { iterations: 1, calls: 1 } });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 1 }, iterations: 1, calls: 1 });
    expect(result).not.toHaveProperty('limited');
  });

  it('is the closing answer at a limit too', async () => {
    const asks: ScriptedReply = { calls: [{ tool: 'search' }] };
    const model = giving(outputMode, asks, asks, answer('{"n": 2}'));
    const opened = await open({
      ...{ model, tools: [search()], output, outputMode },
      ...{ limits: { iterations: 1 }, atLimit: 'answer' },
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 2 }, limited: { limit: 'iterations' } });
    const closing = model.requests.at(-1)!;
    expect(closing.toolChoice).toEqual(
      outputMode === 'native' ? { type: 'none' } : { type: 'tool', toolName: STRUCTURED_OUTPUT_TOOL_NAME },
    );
    expect(closing.tools?.map(({ name }) => name)).toContain('search');
    expectSound(opened);
  });

  it('that does not fit goes back with what did not fit, and the next one is taken', async () => {
    const model = giving(outputMode, answer('{"n": "x"}'), answer('{"n": 3}'));
    const opened = await open({ model, output, outputMode });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 3 }, steps: 2, iterations: 0, calls: 0 });
    const told = JSON.stringify(model.requests[1]!.prompt.at(-1));
    expect(told).toContain('n: Invalid input: expected number, received string');
    expect(told).toContain(outputMode === 'native' ? 'as JSON alone' : `by calling ${STRUCTURED_OUTPUT_TOOL_NAME}`);
    await expectGoesOn(opened);
  });

  it.each([0, 1, 2, 5])('that never fits is asked for %i more times', async outputRetries => {
    const model = giving(outputMode, ...Array(outputRetries + 1).fill(answer('{"n": "x"}')));
    const opened = await open({ model, output, outputMode, outputRetries });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'invalid_output' } });
    expect(OutputError.is(result.status === 'failed' && result.error)).toBe(true);
    expect(model.requests).toHaveLength(outputRetries + 1);
    await expectGoesOn(opened);
  });

  it('that the output limit cut off is asked for again, and told why', async () => {
    const model = giving(outputMode, answer('{"n": ', { finishReason: 'length' }), answer('{"n": 4}'));
    const opened = await open({ model, output, outputMode });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 4 } });
    expect(JSON.stringify(model.requests[1]!.prompt.at(-1))).toContain('cut off by the output limit');
  });

  it('that the provider refused is not asked for again', async () => {
    const model = giving(outputMode, { text: 'I cannot help with that.', finishReason: 'content-filter' });
    const opened = await open({ model, output, outputMode });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'invalid_output' },
      text: 'I cannot help with that.',
    });
    expect(result.status === 'failed' && result.error.message).toContain('refused');
    expect(model.requests).toHaveLength(1);
    await expectGoesOn(opened);
  });

  it('works without a stream, and beside a text that is told first', async () => {
    const model = giving(
      outputMode,
      outputMode === 'tool'
        ? answer('{"n": 5}', { text: 'Here it is.' })
        : {
            content: [
              { type: 'text', text: 'Let me see. ' },
              { type: 'text', text: '{"n": 5}' },
            ],
          },
    );
    const opened = await open({ model, output, outputMode, stream: false });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 5 } });
  });

  it('comes out as the schema makes it, and the event has it as JSON', async () => {
    const made = z.object({ n: z.number().transform(n => new Date(n)) });
    const opened = await open({ model: giving(outputMode, answer('{"n": 0}')), output: made, outputMode: 'tool' });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: new Date(0) } });
    expect(events.at(-1)).toMatchObject({ type: 'turn.done', output: { n: '1970-01-01T00:00:00.000Z' } });
  });
});

describe('the control tool', () => {
  const control = (text: string, id?: string) => ({
    tool: STRUCTURED_OUTPUT_TOOL_NAME,
    inputText: text,
    ...(id && { id }),
  });

  it('beside other calls gets an error result, and the others run', async () => {
    const tool = scriptedTool('search', { returns: 'found' });
    const model = giving(
      'tool',
      { calls: [control('{"n":1}', 'o'), { tool: 'search', id: 's' }] },
      { calls: [control('{"n":2}')] },
    );
    const opened = await open({ model, tools: [tool], output });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', output: { n: 2 }, calls: 1, iterations: 1 });
    expect(resultsIn(model.requests[1]!.prompt)).toEqual([
      ['o', expect.stringContaining('not taken: call _looprig_final_output alone')],
      ['s', 'found'],
    ]);
    await expectGoesOn(opened);
  });

  it('called twice in each response comes to an end at the limit of iterations', async () => {
    const model = giving('tool', ...Array(5).fill({ calls: [control('{"n":1}'), control('{"n":2}')] }));
    const opened = await open({ model, output, limits: { iterations: 4 } });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'tool_limit', limit: 'iterations' }, calls: 0 });
    expect(model.requests).toHaveLength(5);
    await expectGoesOn(opened);
  });

  it('is offered in every request but those of the native way', async () => {
    const offered = async (outputMode: 'native' | 'tool' | 'auto') => {
      const model = saying({ text: '{"n":1}' });
      const opened = await open({ model, tools: [scriptedTool('search')], output, outputMode });
      await play(opened);
      const { tools = [], responseFormat } = model.requests[0]!;
      return { tools: tools.map(({ name }) => name), responseFormat };
    };
    const byTool = { tools: ['search', STRUCTURED_OUTPUT_TOOL_NAME], responseFormat: undefined };
    expect(await offered('tool')).toEqual(byTool);
    expect(await offered('auto')).toEqual(byTool); // nothing is known of a scripted model
    expect(await offered('native')).toEqual({
      tools: ['search'],
      responseFormat: { type: 'json', schema: NATIVE_SCHEMA, name: 'final_answer' },
    });
  });

  it('called in the native way, where it was not offered, is taken as the answer', async () => {
    const opened = await open({
      model: giving('native', { calls: [control('{"n":7}')] }),
      output,
      outputMode: 'native',
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', output: { n: 7 }, calls: 0 });
    await expectGoesOn(opened);
  });

  it('is no tool without an output schema', async () => {
    const opened = await open({ model: saying({ calls: [control('{"n":7}')] }, { text: 'ok' }) });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'ok', calls: 1 });
    expect(JSON.stringify(resultsIn(opened.session.history))).toContain('unknown tool');
  });
});

it('each mode is asked in the way that its own model takes', async () => {
  const reply: ScriptedReply = { text: '{"n":1}' };
  const plain = scriptedModel([reply]);
  const native = scriptedModel([reply, reply], { provider: 'openai.responses', modelId: 'gpt-5' });
  const loop = defineLoop({
    name: 'modal',
    model: plain,
    output,
    modes: { a: {}, b: { model: native } },
    initialMode: 'a',
  });
  const session = await defineRig({ loops: [loop] }).open();
  await session.run('go');
  await session.setMode('b');
  await session.run('go');
  await session.run('go');
  expect(plain.requests[0]!.responseFormat).toBeUndefined();
  expect(plain.requests[0]).toMatchObject({
    tools: [{ name: STRUCTURED_OUTPUT_TOOL_NAME }],
  });
  expect(native.requests[0]!.responseFormat).toEqual({ type: 'json', schema: NATIVE_SCHEMA, name: 'final_answer' });
  expect(native.requests[0]!.tools).toBeUndefined();
});

it('a schema that providers do not hold to is asked for by the tool, unless native is demanded', async () => {
  const optional = z.object({ n: z.number().optional() });
  const asked = async (outputMode: 'auto' | 'native') => {
    const model = scriptedModel([{ text: '{}' }], { provider: 'openai.responses', modelId: 'gpt-5' });
    const loop = defineLoop({ name: 'optional', model, output: optional, outputMode });
    const { output: typed } = await (await defineRig({ loops: [loop] }).open()).run('go');
    expect(typed).toEqual({});
    return model.requests[0]!.responseFormat;
  };
  expect(await asked('auto')).toBeUndefined();
  expect(await asked('native')).toMatchObject({ type: 'json', schema: { properties: { n: { type: 'number' } } } });
});

describe('the request of a real package asks for the answer and names the tools', () => {
  /** Answers no request, but keeps what it was asked. */
  function refusing() {
    const bodies: Record<string, never>[] = [];
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ error: { message: 'no', type: 'invalid_request_error' } }, { status: 400 });
    };
    return { fetch: fetch as typeof globalThis.fetch, bodies };
  }
  const settings = (fetch: typeof globalThis.fetch) => ({ baseURL: 'https://nowhere.invalid/v1', apiKey: 'k', fetch });

  const cases: [string, (fetch: typeof globalThis.fetch) => AnyLanguageModel, object][] = [
    [
      'OpenAI responses',
      fetch => createOpenAI(settings(fetch)).responses('gpt-5'),
      { text: { format: { type: 'json_schema', strict: true, schema: NATIVE_SCHEMA } }, tools: [{ name: 'search' }] },
    ],
    [
      'OpenAI chat',
      fetch => createOpenAI(settings(fetch)).chat('gpt-4o'),
      {
        response_format: { type: 'json_schema', json_schema: { strict: true, schema: NATIVE_SCHEMA } },
        tools: [{ function: { name: 'search' } }],
      },
    ],
    [
      'Anthropic',
      fetch => createAnthropic(settings(fetch))('claude-sonnet-4-5'),
      { output_config: { format: { type: 'json_schema', schema: NATIVE_SCHEMA } }, tools: [{ name: 'search' }] },
    ],
    [
      'Gemini 3',
      fetch => createGoogle(settings(fetch))('gemini-3-pro-preview'),
      {
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: NATIVE_SCHEMA },
        tools: [{ functionDeclarations: [{ name: 'search' }] }],
      },
    ],
    [
      'a compatible server that says that it can',
      fetch =>
        createOpenAICompatible({ name: 'x', supportsStructuredOutputs: true, ...settings(fetch) }).chatModel('m'),
      {
        response_format: { type: 'json_schema', json_schema: { schema: NATIVE_SCHEMA } },
        tools: [{ function: { name: 'search' } }],
      },
    ],
    [
      'a compatible server that says nothing, which gets the control tool',
      fetch => createOpenAICompatible({ name: 'x', ...settings(fetch) }).chatModel('m'),
      { tools: [{ function: { name: 'search' } }, { function: { name: STRUCTURED_OUTPUT_TOOL_NAME } }] },
    ],
    [
      'Gemini 2, which gets the control tool beside tools',
      fetch => createGoogle(settings(fetch))('gemini-2.5-flash'),
      { tools: [{ functionDeclarations: [{ name: 'search' }, { name: STRUCTURED_OUTPUT_TOOL_NAME }] }] },
    ],
  ];

  it.each(cases)('%s', async (_, create, expected) => {
    const { fetch, bodies } = refusing();
    const search = scriptedTool('search').definition;
    const loop = defineLoop({ name: 'real', model: create(fetch), tools: [search], output, modelRetries: 0 });
    const { status } = await (await defineRig({ loops: [loop] }).open()).submit('go').result;
    expect(status).toBe('failed');
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).toMatchObject(expected);
  });
});
