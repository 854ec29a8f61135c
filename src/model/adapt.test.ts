import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2Content,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { scriptedModel } from '../testing/scripted-model.ts';
import { adaptModel } from './adapt.ts';
import type { AnyLanguageModel, Message, ModelRequest, ModelStreamPart, ToolResultOutput } from './model.ts';

const v3Usage = {
  inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 4, text: 3, reasoning: 1 },
};
const v2Usage = { inputTokens: 7, outputTokens: 4, totalTokens: 11, cachedInputTokens: 2, reasoningTokens: 1 };

function streamOf<Part>(parts: readonly Part[]): ReadableStream<Part> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A v3 model that answers with `content` or `parts`, and keeps what it was asked. */
function modelV3({
  content = [],
  parts = [],
}: {
  content?: LanguageModelV3Content[];
  parts?: LanguageModelV3StreamPart[];
} = {}) {
  const asked: LanguageModelV3CallOptions[] = [];
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'acme.chat',
    modelId: 'three',
    supportedUrls: { 'image/*': [/^https:/] },
    async doGenerate(options) {
      asked.push(options);
      const finishReason = { unified: 'stop' as const, raw: 'end' };
      return { content, finishReason, usage: v3Usage, warnings: [{ type: 'other', message: 'careful' }] };
    },
    async doStream(options) {
      asked.push(options);
      return { stream: streamOf(parts), response: { headers: { 'x-request': '1' } } };
    },
  };
  return { model, asked };
}

/** The same for v2. */
function modelV2({
  content = [],
  parts = [],
  finishReason = 'stop',
}: {
  content?: LanguageModelV2Content[];
  parts?: LanguageModelV2StreamPart[];
  finishReason?: string | undefined;
} = {}) {
  const asked: LanguageModelV2CallOptions[] = [];
  const model: LanguageModelV2 = {
    specificationVersion: 'v2',
    provider: 'acme',
    modelId: 'two',
    supportedUrls: {},
    async doGenerate(options) {
      asked.push(options);
      return {
        content,
        finishReason: finishReason as 'stop',
        usage: v2Usage,
        warnings: [
          { type: 'unsupported-setting', setting: 'topK', details: 'ignored' },
          { type: 'unsupported-tool', tool: { type: 'function', name: 'look', inputSchema: {} } },
          { type: 'other', message: 'careful' },
        ],
        providerMetadata: { acme: { id: 1 } },
        response: { id: 'r1' },
      };
    },
    async doStream(options) {
      asked.push(options);
      return { stream: streamOf(parts) };
    },
  };
  return { model, asked };
}

/** What a model of each old version is asked when the loop asks with `prompt`. */
async function asked(prompt: Message[], more: Partial<ModelRequest> = {}) {
  const [three, two] = [modelV3(), modelV2()];
  await adaptModel(three.model).doGenerate({ prompt, ...more });
  await adaptModel(two.model).doGenerate({ prompt, ...more });
  const [v3, v2] = [three.asked[0], two.asked[0]];
  if (v3 === undefined || v2 === undefined) throw new Error('a model was not asked');
  return { v3, v2 };
}

async function readAll(model: AnyLanguageModel, request: ModelRequest = { prompt: [] }): Promise<ModelStreamPart[]> {
  const parts: ModelStreamPart[] = [];
  for await (const part of (await adaptModel(model).doStream(request)).stream) parts.push(part);
  return parts;
}

const user = (...content: Extract<Message, { role: 'user' }>['content']): Message => ({ role: 'user', content });
const answered = (output: ToolResultOutput): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'look', output }],
});
/** The output of the first part of each message. */
function outputsOf(prompt: LanguageModelV3CallOptions['prompt'] | LanguageModelV2CallOptions['prompt']): unknown[] {
  return prompt.map(({ content }) =>
    typeof content[0] === 'object' && 'output' in content[0] ? content[0].output : undefined,
  );
}
const pngBytes = new Uint8Array([137, 80, 78, 71]);
const pngBase64 = 'iVBORw==';

describe('the adapter', () => {
  test('of a v4 model is the model itself', () => {
    const model = scriptedModel([]);
    expect(adaptModel(model)).toBe(model);
  });

  test('is the same one each time, and tells what the model is', () => {
    const { model } = modelV3();
    const adapter = adaptModel(model);
    expect(adaptModel(model)).toBe(adapter);
    expect(adapter).toMatchObject({ specificationVersion: 'v4', provider: 'acme.chat', modelId: 'three' });
    expect(adapter.supportedUrls).toBe(model.supportedUrls);
  });

  test('is refused for any other specification', () => {
    const model = { ...modelV3().model, specificationVersion: 'v9' } as unknown as AnyLanguageModel;
    expect(() => adaptModel(model)).toThrow('specification "v9" cannot be adapted');
  });
});

describe('a request', () => {
  const plain: Message[] = [
    { role: 'system', content: 'be short' },
    user({ type: 'text', text: 'hi', providerOptions: { acme: { cache: true } } }),
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'so', providerOptions: { acme: { signature: 's' } } },
        { type: 'text', text: 'let me look' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { at: 'map' } },
      ],
    },
    answered({ type: 'text', value: 'a map' }),
    answered({ type: 'json', value: { at: 1 } }),
    answered({ type: 'error-text', value: 'no' }),
    answered({ type: 'error-json', value: [1] }),
  ];

  test('hands on what both know, message by message, as the same objects', async () => {
    const { v3, v2 } = await asked(plain);
    expect(v3.prompt).toHaveLength(plain.length);
    v3.prompt.forEach((message, index) => {
      expect(message).toBe(plain[index]);
    });
    v2.prompt.forEach((message, index) => {
      expect(message).toBe(plain[index]);
    });
  });

  test('keeps settings, tools, tool choice, format and signal', async () => {
    const { signal } = new AbortController();
    const more: Partial<ModelRequest> = {
      temperature: 0.5,
      maxOutputTokens: 10,
      stopSequences: ['x'],
      tools: [{ type: 'function', name: 'look', inputSchema: { type: 'object' }, strict: true }],
      toolChoice: { type: 'tool', toolName: 'look' },
      responseFormat: { type: 'json', schema: { type: 'object' } },
      headers: { a: 'b' },
      providerOptions: { acme: { fast: true } },
      abortSignal: signal,
    };
    const { v3, v2 } = await asked(plain, more);
    expect(v3).toMatchObject(more);
    expect(v2).toMatchObject(more);
    expect(v2.abortSignal).toBe(signal);
  });

  test('calls a provider tool by the name of v2', async () => {
    const tool = { type: 'provider', id: 'acme.search', name: 'search', args: { max: 3 } } as const;
    const { v3, v2 } = await asked([], { tools: [tool] });
    expect(v3.tools).toEqual([tool]);
    expect(v2.tools).toEqual([{ ...tool, type: 'provider-defined' }]);
  });

  test('leaves out the reasoning effort, with a warning', async () => {
    const { model, asked } = modelV3({ parts: [{ type: 'stream-start', warnings: [] }] });
    const { warnings } = await adaptModel(model).doGenerate({ prompt: [], reasoning: 'high' });
    expect(asked[0]).not.toHaveProperty('reasoning');
    const warning = { type: 'unsupported', feature: 'reasoning', details: 'the model is of an older specification' };
    expect(warnings).toEqual([{ type: 'other', message: 'careful' }, warning]);
    expect(await readAll(model, { prompt: [], reasoning: 'high' })).toEqual([
      { type: 'stream-start', warnings: [warning] },
    ]);
    expect(await readAll(model, { prompt: [], reasoning: 'provider-default' })).toEqual([
      { type: 'stream-start', warnings: [] },
    ]);
  });

  test('carries files as bare data, text as bytes, and addresses as URLs', async () => {
    const url = new URL('https://example.com/a.png');
    const { v3, v2 } = await asked([
      user(
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: pngBytes }, filename: 'a.png' },
        { type: 'file', mediaType: 'image', data: { type: 'data', data: pngBase64 } },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'über' } },
      ),
    ]);
    const files = [
      { type: 'file', mediaType: 'image/png', data: pngBytes, filename: 'a.png' },
      { type: 'file', mediaType: 'image/*', data: pngBase64 },
      { type: 'file', mediaType: 'image/png', data: url },
      { type: 'file', mediaType: 'text/plain', data: new TextEncoder().encode('über') },
    ];
    expect(v3.prompt).toEqual([{ role: 'user', content: files }]);
    expect(v2.prompt).toEqual(v3.prompt);
  });

  test('takes an address that was kept as text', async () => {
    const kept: Message = JSON.parse(
      JSON.stringify(
        user({ type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a') } }),
      ),
    );
    const { v3 } = await asked([kept]);
    expect(v3.prompt[0]?.content[0]).toMatchObject({ data: new URL('https://example.com/a') });
  });

  test("carries a file by the provider's own id", async () => {
    const byId = user({
      type: 'file',
      mediaType: 'application/pdf',
      data: { type: 'reference', reference: { acme: 'file-1', other: 'x' } },
    });
    const byAddress = user({
      type: 'file',
      mediaType: 'application/pdf',
      data: { type: 'reference', reference: { acme: 'https://files.example/1' } },
    });
    const { v3, v2 } = await asked([byId, byAddress]);
    expect(v3.prompt[0]?.content[0]).toMatchObject({ data: 'file-1' });
    expect(v3.prompt[1]?.content[0]).toMatchObject({ data: new URL('https://files.example/1') });
    expect(v2.prompt).toEqual(v3.prompt);
  });

  test('is refused where a file has no id for the provider', async () => {
    const foreign = user({
      type: 'file',
      mediaType: 'application/pdf',
      data: { type: 'reference', reference: { other: 'x' } },
    });
    const { model } = modelV3();
    await expect(adaptModel(model).doGenerate({ prompt: [foreign] })).rejects.toThrow(
      'no id for provider "acme", only for other',
    );
  });

  test('leaves out parts that older models do not know, and messages of which nothing is left', async () => {
    const data = { type: 'data' as const, data: pngBase64 };
    const { v3, v2 } = await asked([
      {
        role: 'assistant',
        content: [
          { type: 'custom', kind: 'acme.thing' },
          { type: 'text', text: 'kept' },
          { type: 'reasoning-file', mediaType: 'image/png', data },
        ],
      },
      { role: 'assistant', content: [{ type: 'custom', kind: 'acme.thing' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'x', approved: true }] },
    ]);
    const kept = { role: 'assistant', content: [{ type: 'text', text: 'kept' }] };
    expect(v3.prompt).toEqual([
      kept,
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'x', approved: true }] },
    ]);
    expect(v2.prompt).toEqual([kept]);
  });

  test('keeps a message that had no content to begin with', async () => {
    const empty: Message = { role: 'assistant', content: [] };
    expect((await asked([empty])).v3.prompt).toEqual([empty]);
  });

  test('tells v2 in words that a call was denied', async () => {
    const { v3, v2 } = await asked([
      answered({ type: 'execution-denied', reason: 'too risky' }),
      answered({ type: 'execution-denied' }),
    ]);
    expect(v3.prompt[0]?.content[0]).toMatchObject({ output: { type: 'execution-denied', reason: 'too risky' } });
    expect(outputsOf(v2.prompt)).toEqual([
      { type: 'error-text', value: 'permission denied: too risky' },
      { type: 'error-text', value: 'permission denied' },
    ]);
  });

  test('carries the content of a result: data, addresses and ids in v3, data and words in v2', async () => {
    const url = new URL('https://example.com/a.png');
    const { v3, v2 } = await asked([
      answered({
        type: 'content',
        value: [
          { type: 'text', text: 'see', providerOptions: { acme: { cache: true } } },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: pngBytes } },
          { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'JVBE' }, filename: 'a.pdf' },
          { type: 'file', mediaType: 'image/png', data: { type: 'url', url } },
          { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url }, filename: 'a.pdf' },
          { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { acme: '1' } } },
          { type: 'file', mediaType: 'application/pdf', data: { type: 'reference', reference: { acme: '2' } } },
          { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inline' } },
          { type: 'custom', providerOptions: { acme: { kind: 'thing' } } },
        ],
      }),
    ]);
    expect(v3.prompt[0]?.content[0]).toMatchObject({ toolCallId: 'a', toolName: 'look' });
    expect(outputsOf(v3.prompt)[0]).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'see', providerOptions: { acme: { cache: true } } },
        { type: 'image-data', mediaType: 'image/png', data: pngBase64 },
        { type: 'file-data', mediaType: 'application/pdf', data: 'JVBE', filename: 'a.pdf' },
        { type: 'image-url', url: url.href },
        { type: 'file-url', url: url.href },
        { type: 'image-file-id', fileId: { acme: '1' } },
        { type: 'file-id', fileId: { acme: '2' } },
        { type: 'text', text: 'inline' },
        { type: 'custom', providerOptions: { acme: { kind: 'thing' } } },
      ],
    });
    expect(outputsOf(v2.prompt)[0]).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'see' },
        { type: 'media', mediaType: 'image/png', data: pngBase64 },
        { type: 'media', mediaType: 'application/pdf', data: 'JVBE' },
        { type: 'text', text: `a file (image/png) at ${url.href}` },
        { type: 'text', text: `the file "a.pdf" (application/pdf) at ${url.href}` },
        { type: 'text', text: 'a file (image/png), kept by the provider and not shown here' },
        { type: 'text', text: 'a file (application/pdf), kept by the provider and not shown here' },
        { type: 'text', text: 'inline' },
      ],
    });
  });

  test('converts a message once, and hands on the same object at the next step', async () => {
    const { model, asked: requests } = modelV2();
    const adapter = adaptModel(model);
    const prompt = [
      user({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: pngBytes } }),
      answered({ type: 'execution-denied' }),
    ];
    await adapter.doGenerate({ prompt });
    await adapter.doStream({ prompt: [...prompt, user({ type: 'text', text: 'and now?' })] });
    expect(requests[1]?.prompt).toHaveLength(3);
    expect(requests[1]?.prompt[0]).toBe(requests[0]?.prompt[0]);
    expect(requests[1]?.prompt[1]).toBe(requests[0]?.prompt[1]);
  });
});

describe('a response of v3', () => {
  const shared: LanguageModelV3Content[] = [
    { type: 'text', text: 'hi', providerMetadata: { acme: { id: 1 } } },
    { type: 'reasoning', text: 'so' },
    { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}', dynamic: true },
    { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: { found: 1 }, preliminary: true },
    { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'p' },
  ];
  const file = { type: 'file', mediaType: 'image/png', data: pngBytes } as const;

  test('whole is the same but for its files', async () => {
    const { model } = modelV3({ content: [...shared, file] });
    const result = await adaptModel(model).doGenerate({ prompt: [] });
    expect(result).toEqual({
      content: [...shared, { ...file, data: { type: 'data', data: pngBytes } }],
      finishReason: { unified: 'stop', raw: 'end' },
      usage: v3Usage,
      warnings: [{ type: 'other', message: 'careful' }],
    });
    expect(result.content[0]).toBe(shared[0]);
  });

  test('streamed is the same but for its files', async () => {
    const parts: LanguageModelV3StreamPart[] = [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'careful' }] },
      { type: 'response-metadata', id: 'r1' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'hi' },
      { type: 'text-end', id: '0' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
      { type: 'error', error: 'odd' },
      { type: 'finish', finishReason: { unified: 'length', raw: 'max' }, usage: v3Usage },
    ];
    const { model } = modelV3({ parts: [...parts, file] });
    expect(await readAll(model)).toEqual([...parts, { ...file, data: { type: 'data', data: pngBytes } }]);
    expect((await adaptModel(model).doStream({ prompt: [] })).response).toEqual({ headers: { 'x-request': '1' } });
  });
});

describe('a response of v2', () => {
  const v4Usage = {
    inputTokens: { total: 7, noCache: undefined, cacheRead: 2, cacheWrite: undefined },
    outputTokens: { total: 4, text: undefined, reasoning: 1 },
    raw: v2Usage,
  };
  const providerResult = { type: 'tool-result', toolCallId: 'p', toolName: 'search' } as const;
  const file = { type: 'file', mediaType: 'image/png', data: pngBase64 } as const;

  test('whole is put into the words of v4', async () => {
    const { model } = modelV2({
      content: [
        { type: 'text', text: 'hi' },
        { ...providerResult, result: { found: 1 }, providerExecuted: true },
        { ...providerResult, result: undefined, providerExecuted: true },
        file,
      ],
      finishReason: 'tool-calls',
    });
    expect(await adaptModel(model).doGenerate({ prompt: [] })).toEqual({
      content: [
        { type: 'text', text: 'hi' },
        { ...providerResult, result: { found: 1 } },
        { ...providerResult, result: '' },
        { ...file, data: { type: 'data', data: pngBase64 } },
      ],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage: v4Usage,
      warnings: [
        { type: 'unsupported', feature: 'topK', details: 'ignored' },
        { type: 'unsupported', feature: 'tool look' },
        { type: 'other', message: 'careful' },
      ],
      providerMetadata: { acme: { id: 1 } },
      response: { id: 'r1' },
    });
  });

  test('streamed is put into the words of v4', async () => {
    const { model } = modelV2({
      parts: [
        { type: 'stream-start', warnings: [{ type: 'unsupported-setting', setting: 'seed' }] },
        { type: 'text-delta', id: '0', delta: 'hi' },
        { ...providerResult, result: 1, isError: true, providerExecuted: true },
        file,
        { type: 'finish', finishReason: 'unknown', usage: v2Usage, providerMetadata: { acme: { id: 1 } } },
      ],
    });
    expect(await readAll(model)).toEqual([
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] },
      { type: 'text-delta', id: '0', delta: 'hi' },
      { ...providerResult, result: 1, isError: true },
      { ...file, data: { type: 'data', data: pngBase64 } },
      {
        type: 'finish',
        finishReason: { unified: 'other', raw: undefined },
        usage: v4Usage,
        providerMetadata: { acme: { id: 1 } },
      },
    ]);
  });

  test.each([
    ['stop', 'stop', undefined],
    ['length', 'length', undefined],
    ['content-filter', 'content-filter', undefined],
    ['error', 'error', undefined],
    ['other', 'other', undefined],
    ['unknown', 'other', undefined],
    ['function_call', 'other', 'function_call'],
    [undefined, 'other', undefined],
  ])('that finishes with %s finishes with %s', async (reason, unified, raw) => {
    const { model } = modelV2({ parts: [{ type: 'finish', finishReason: reason as 'stop', usage: v2Usage }] });
    const [finish] = await readAll(model);
    expect(finish).toMatchObject({ finishReason: { unified, raw } });
  });

  test.each([
    [
      'reasoning that is counted beside the output is among it',
      { inputTokens: 10, outputTokens: 3, reasoningTokens: 5, totalTokens: 18 },
      undefined,
      { input: 10, output: 8 },
    ],
    [
      'reasoning that is counted among the output stays there',
      { inputTokens: 10, outputTokens: 8, reasoningTokens: 5, totalTokens: 18 },
      undefined,
      { input: 10, output: 8 },
    ],
    [
      'what the total has beyond input, output and reasoning was put in',
      { inputTokens: 10, outputTokens: 3, reasoningTokens: 5, totalTokens: 58 },
      undefined,
      { input: 50, output: 8 },
    ],
    [
      'a total that is less than its parts changes nothing',
      { inputTokens: 10, outputTokens: 3, reasoningTokens: 5, totalTokens: 1 },
      undefined,
      { input: 10, output: 3 },
    ],
    [
      'what Anthropic counts beside the input, read from the cache or written to it, was put in',
      { inputTokens: 10, outputTokens: 3, totalTokens: 13, cachedInputTokens: 100 },
      { anthropic: { cacheCreationInputTokens: 20 } },
      { input: 130, output: 3, cacheRead: 100, cacheWrite: 20 },
    ],
    [
      'what others read from the cache is among the input',
      { inputTokens: 110, outputTokens: 3, totalTokens: 113, cachedInputTokens: 100 },
      { openai: {} },
      { input: 110, output: 3, cacheRead: 100 },
    ],
  ])('%s', async (_, usage, providerMetadata, expected) => {
    const finish: LanguageModelV2StreamPart = {
      type: 'finish',
      finishReason: 'stop',
      usage,
      ...(providerMetadata && { providerMetadata }),
    };
    const [part] = await readAll(modelV2({ parts: [finish] }).model);
    const {
      input: total,
      output,
      cacheRead,
      cacheWrite,
    } = { cacheRead: undefined, cacheWrite: undefined, ...expected };
    expect(part).toMatchObject({
      usage: {
        inputTokens: { total, cacheRead, cacheWrite },
        outputTokens: { total: output, reasoning: (usage as { reasoningTokens?: number }).reasoningTokens },
      },
    });
  });

  test('without usage has no counts', async () => {
    const finish = { type: 'finish', finishReason: 'stop' } as LanguageModelV2StreamPart;
    const [part] = await readAll(modelV2({ parts: [finish] }).model);
    expect(part).toMatchObject({ usage: { inputTokens: { total: undefined }, outputTokens: { total: undefined } } });
  });
});

describe.each(['v3', 'v2'] as const)('a scripted model of %s', specification => {
  const reply = {
    text: 'hello',
    calls: [{ tool: 'look', input: { at: 'map' } }],
    usage: { inputTokens: 3, outputTokens: 2 },
  };

  test('gives through the adapter what one of v4 gives', async () => {
    const adapted = adaptModel(scriptedModel([reply, reply], { specification }));
    const whole = await adapted.doGenerate({ prompt: [] });
    const expected = await scriptedModel([reply]).doGenerate({ prompt: [] });
    expect(whole.content).toEqual(expected.content);
    expect(whole.finishReason).toEqual(expected.finishReason);
    expect(whole.usage.inputTokens.total).toBe(3);
    const parts = await readAll(adapted);
    expect(parts.at(-2)).toMatchObject({ type: 'tool-call', toolCallId: 'call-1-0', input: '{"at":"map"}' });
  });

  test('breaks through the adapter as it does without', async () => {
    const model = scriptedModel([{ error: new Error('busy') }, { text: 'a', errorAfter: 2 }], { specification });
    await expect(readAll(model)).rejects.toThrow('busy');
    await expect(readAll(model)).rejects.toThrow('terminated');
  });

  test('is aborted through the adapter while it hangs', async () => {
    const controller = new AbortController();
    const model = scriptedModel([{ text: 'abc', hangAfter: 1 }], { specification });
    const { stream } = await adaptModel(model).doStream({ prompt: [], abortSignal: controller.signal });
    const reader = stream.getReader();
    await reader.read();
    const next = reader.read();
    next.catch(() => {});
    controller.abort('stop');
    await expect(next).rejects.toBe('stop');
  });
});

describe('warnings that are none', () => {
  const odd = [undefined, null, 'careful', 7, { length: 2 }] as unknown[];
  const finishReason = { unified: 'stop', raw: undefined };

  test.each(odd)('of %j do not lose the response of a v3 model', async warnings => {
    const { model } = modelV3({ parts: [{ type: 'stream-start', warnings } as never] });
    const adapted = adaptModel({
      ...model,
      doGenerate: async () => ({ content: [], finishReason, usage: v3Usage, warnings }) as never,
    });
    expect((await adapted.doGenerate({ prompt: [] })).warnings).toEqual([]);
    const { stream } = await adapted.doStream({ prompt: [] });
    expect((await stream.getReader().read()).value).toMatchObject({ type: 'stream-start', warnings: [] });
  });

  test.each([...odd, [null, 7, { type: 'unsupported-tool' }]])(
    'of %j do not lose the response of a v2 model',
    async warnings => {
      const adapted = adaptModel({
        ...modelV3({ parts: [] }).model,
        specificationVersion: 'v2',
        doGenerate: async () => ({ content: [], finishReason: 'stop', usage: {}, warnings }) as never,
      } as never);
      const { warnings: kept } = await adapted.doGenerate({ prompt: [] });
      expect(kept).toEqual(Array.isArray(warnings) ? [{ type: 'unsupported', feature: 'tool ' }] : []);
    },
  );
});
