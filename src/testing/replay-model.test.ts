import { afterEach, describe, expect, test, vi } from 'vitest';
import { exchanges, LEFT_OUT, readRecording, recordings } from '../../test/exchanges/read.ts';
import type { ModelStreamPart } from '../model/model.ts';
import { recordedTools } from './recorded-tools.ts';
import type { Recording } from './recording.ts';
import { type ReplayModel, replayModel } from './replay-model.ts';

const request = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'go on' }] }] };

async function streamParts(model: ReplayModel): Promise<ModelStreamPart[]> {
  const parts: ModelStreamPart[] = [];
  for await (const part of (await model.doStream(request)).stream) parts.push(part);
  return parts;
}

/** What a model says in one response: its text, the calls for the client, and the word to finish. */
interface Said {
  text: string;
  calls: unknown[];
  finish: string;
}

async function saidInStream(model: ReplayModel): Promise<Said> {
  const said: Said = { text: '', calls: [], finish: '' };
  for (const part of await streamParts(model)) {
    if (part.type === 'text-delta') said.text += part.delta;
    if (part.type === 'tool-call') said.calls.push([part.toolName, JSON.parse(part.input)]);
    if (part.type === 'finish') said.finish = part.finishReason.unified;
  }
  return said;
}

async function saidAtOnce(model: ReplayModel): Promise<Said> {
  const { content, finishReason } = await model.doGenerate(request);
  const text = content.map(part => (part.type === 'text' ? part.text : '')).join('');
  const calls = content.flatMap(part => (part.type === 'tool-call' ? [[part.toolName, JSON.parse(part.input)]] : []));
  return { text, calls, finish: finishReason.unified };
}

const OWN: [string, Said[]][] = [
  [
    'anthropic-messages',
    [
      {
        text: 'Let me look.',
        calls: [
          ['weather', { city: 'Zürich' }],
          ['clock', {}],
        ],
        finish: 'tool-calls',
      },
      { text: 'It is sunny in Zürich.', calls: [], finish: 'stop' },
    ],
  ],
  [
    'openai-chat',
    [
      {
        text: '',
        calls: [
          ['weather', { city: 'Bern' }],
          ['weather', { city: 'Genf' }],
        ],
        finish: 'tool-calls',
      },
      { text: 'Sun in Bern, rain in Genf.', calls: [], finish: 'stop' },
    ],
  ],
  [
    'openai-responses',
    [
      { text: '', calls: [['weather', { city: 'Basel' }]], finish: 'tool-calls' },
      { text: 'Fog in Basel.', calls: [], finish: 'stop' },
    ],
  ],
  [
    'gemini',
    [
      {
        text: '',
        calls: [
          ['weather', { city: 'Chur' }],
          ['weather', { city: 'Sion' }],
        ],
        finish: 'tool-calls',
      },
      { text: '', calls: [['weather', { city: 'Biel' }]], finish: 'tool-calls' },
      { text: 'Snow, wind and mist.', calls: [], finish: 'stop' },
    ],
  ],
];

describe.each(OWN)('%s', (name, expected) => {
  const recording = exchanges(name);

  test('streams what was recorded, streamed or whole', async () => {
    const model = await replayModel(recording);
    for (const said of expected) expect(await saidInStream(model)).toEqual(said);
  });

  test('gives at once what was recorded, streamed or whole', async () => {
    const model = await replayModel(recording);
    for (const said of expected) expect(await saidAtOnce(model)).toEqual(said);
  });

  test.each(['whole', 1, 7] as const)('is read right when it arrives in pieces (%s)', async split => {
    const model = await replayModel(recording, { split });
    for (const said of expected) expect(await saidInStream(model)).toEqual(said);
  });

  test('answers a request too many with status 410, which is not to be retried', async () => {
    const model = await replayModel(recording);
    for (const _ of expected) await model.doGenerate(request);
    const gone = {
      statusCode: 410,
      isRetryable: false,
      message: `recording ${name} has only ${expected.length} responses`,
    };
    await expect(model.doGenerate(request)).rejects.toMatchObject(gone);
    await expect(model.doStream(request)).rejects.toMatchObject(gone);
  });

  test('keeps the bodies that the provider package sent', async () => {
    const model = await replayModel(recording);
    expect(model.received).toEqual([]);
    await model.doGenerate(request);
    await model.doStream(request);
    expect(model.received).toHaveLength(2);
    expect(JSON.stringify(model.received[0])).toContain('go on');
  });
});

test('an error that was recorded is the error of the provider package, with its status and body', async () => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'busy' } };
  const failing: Recording = {
    ...exchanges('anthropic-messages'),
    exchanges: [
      { request: null, response: { status: 529, headers: { 'content-type': 'application/json' }, body: error } },
    ],
  };
  const expected = { statusCode: 529, isRetryable: true, message: 'busy' };
  await expect((await replayModel(failing)).doStream(request)).rejects.toMatchObject(expected);
  await expect((await replayModel(failing)).doGenerate(request)).rejects.toMatchObject(expected);
});

test('an aborted request is rejected with the reason, and uses no response', async () => {
  const model = await replayModel(exchanges('anthropic-messages'));
  const aborted = { ...request, abortSignal: AbortSignal.abort(new DOMException('enough', 'AbortError')) };
  await expect(model.doStream(aborted)).rejects.toThrow('enough');
  expect((await saidInStream(model)).calls).toHaveLength(2);
});

test('a signal that is aborted in the middle breaks the stream', async () => {
  const model = await replayModel(exchanges('anthropic-messages'), { split: 1 });
  const controller = new AbortController();
  const { stream } = await model.doStream({ ...request, abortSignal: controller.signal });
  const read = async (): Promise<void> => {
    for await (const _ of stream) controller.abort(new DOMException('enough', 'AbortError'));
  };
  await expect(read()).rejects.toThrow('enough');
});

describe('what is no recording is refused:', () => {
  const whole = exchanges('openai-chat');
  test.each([
    ['null', null, 'a recording is an object'],
    ['a file of something else', { name: 'looprig', version: '1' }, '"provider" of a recording must be a string'],
    ['no exchanges', { ...whole, exchanges: 'none' }, '"exchanges" of a recording must be a list'],
    ['an exchange without response', { ...whole, exchanges: [{ request: null }] }, 'exchanges[0] of a recording'],
    ['an unknown provider', { ...whole, provider: 'acme' }, 'not "acme"'],
  ])('%s', async (_, recording, message) => {
    await expect(replayModel(recording as Recording)).rejects.toThrow(message);
  });
});

describe('a provider package that is not installed', () => {
  afterEach(() => {
    vi.doUnmock('@ai-sdk/google');
    vi.resetModules();
  });

  test('is named in the error', async () => {
    vi.resetModules();
    vi.doMock('@ai-sdk/google', () => {
      throw new Error('Cannot find package');
    });
    const { replayModel: freshReplayModel } = await import('./replay-model.ts');
    await expect(freshReplayModel(exchanges('gemini'))).rejects.toThrow('install the package @ai-sdk/google');
  });
});

describe.skipIf(recordings.length === 0)(`the recordings of real providers${LEFT_OUT}`, () => {
  test.each(recordings)('%s plays as a stream, with its recorded calls', async (_, file) => {
    const recording = readRecording(file);
    const model = await replayModel(recording);
    const calls: string[] = [];
    for (const { response } of recording.exchanges) {
      if (response.status >= 400) {
        await expect(model.doStream(request)).rejects.toMatchObject({ statusCode: response.status });
        continue;
      }
      for (const part of await streamParts(model)) {
        if (part.type === 'tool-call' && !part.providerExecuted) calls.push(part.toolName);
      }
    }
    expect(calls).toEqual(recordedTools(recording).calls.map(({ toolName }) => toolName));
    await expect(model.doStream(request)).rejects.toMatchObject({ statusCode: 410 });
  });

  test.each(recordings)('%s plays at once, with the same calls', async (name, file) => {
    const recording = readRecording(file);
    const model = await replayModel(recording, { split: 7 });
    const calls: string[] = [];
    for (const { response } of recording.exchanges) {
      const result = await model.doGenerate(request).then(undefined, (error: unknown) => error as Error);
      if (!('content' in result)) {
        // A stream that tells an error in a part has no whole response.
        expect(response.status >= 400 || name === 'compat-kimi-stream-no-finish-reason').toBe(true);
        continue;
      }
      for (const part of result.content) {
        if (part.type === 'tool-call' && !part.providerExecuted) calls.push(part.toolName);
      }
    }
    if (name === 'compat-kimi-stream-no-finish-reason') expect(calls).toEqual([]);
    else expect(calls).toEqual(recordedTools(recording).calls.map(({ toolName }) => toolName));
  });
});
