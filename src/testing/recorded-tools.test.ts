import { describe, expect, test } from 'vitest';
import { exchanges, LEFT_OUT, readRecording, recordings } from '../../test/exchanges/read.ts';
import { BUILD, type LiveTool, type ToolDefinition, type ToolReturn, toolError, toolResult } from '../define/tool.ts';
import { recordedTools, standInTools } from './recorded-tools.ts';
import type { Recording } from './recording.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };

function recordingNamed(name: string): Recording {
  const found = recordings.find(([known]) => known === name);
  if (found === undefined) throw new Error(`no recording ${name}`);
  return readRecording(found[1]);
}

/** Runs a stand-in as a loop would, for the calls of these ids. */
async function answers(definition: ToolDefinition | undefined, ...callIds: string[]): Promise<ToolReturn[]> {
  if (definition === undefined) throw new Error('no such tool');
  const live = (await definition[BUILD]({ sessionId: 's', loopId: 'l' } as never)) as LiveTool<object>;
  const results: ToolReturn[] = [];
  for (const callId of callIds) {
    const signal = new AbortController().signal;
    results.push(await live.execute({}, { callId, signal, toolName: definition.name } as never));
  }
  return results;
}

describe('calls and results are read from', () => {
  test('anthropic-messages', () => {
    const tools = recordedTools(exchanges('anthropic-messages'));
    expect(tools.names).toEqual(['weather', 'clock']);
    expect(tools.calls).toEqual([
      { id: 'toolu_1', toolName: 'weather', input: { city: 'Zürich' }, result: 'sunny' },
      { id: 'toolu_2', toolName: 'clock', input: {}, result: toolError('no clock here') },
    ]);
  });

  test('openai-chat, by id whatever their order', () => {
    const tools = recordedTools(exchanges('openai-chat'));
    expect(tools.names).toEqual(['weather']);
    expect(tools.calls.map(({ id, input, result }) => [id, input, result])).toEqual([
      ['call_a', { city: 'Bern' }, 'sun'],
      ['call_b', { city: 'Genf' }, 'rain'],
    ]);
  });

  test('openai-responses', () => {
    expect(recordedTools(exchanges('openai-responses')).calls).toEqual([
      { id: 'call_1', toolName: 'weather', input: { city: 'Basel' }, result: 'fog' },
    ]);
  });

  test('gemini, by name and order', () => {
    const results = recordedTools(exchanges('gemini')).calls.map(({ id, result }) => [id, result]);
    expect(results).toEqual([
      [undefined, { output: 'snow' }],
      [undefined, { output: 'wind' }],
      [undefined, { output: 'mist' }],
    ]);
  });
});

test('resultFor finds a result by the number of the call or by its id', () => {
  const tools = recordedTools(exchanges('openai-chat'));
  expect(tools.resultFor('weather', 1)).toBe('rain');
  expect(tools.resultFor('weather', 'call_a')).toBe('sun');
  expect(tools.resultFor('weather', 2)).toBeUndefined();
  expect(tools.resultFor('clock', 0)).toBeUndefined();
});

test('a recording of an unknown format is refused', () => {
  expect(() => recordedTools({ ...exchanges('gemini'), api: 'soap' })).toThrow('not "soap"');
});

/** A recording of one Anthropic call with this result, and of the same id again. */
function withResult(...contents: unknown[]): Recording {
  const call = { type: 'tool_use', id: 'again', name: 'look', input: {} };
  const results = contents.map(content => ({ type: 'tool_result', tool_use_id: 'again', content }));
  return {
    ...exchanges('anthropic-messages'),
    exchanges: [...contents.map((_, index) => index), contents.length].map(step => ({
      request: { body: { messages: results.slice(0, step).map(result => ({ role: 'user', content: [result] })) } },
      response: { status: 200, headers: JSON_HEADERS, body: { content: step < contents.length ? [call] : [] } },
    })),
  };
}

test('a result with an image is a result in parts', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
  const text = { type: 'text', text: 'a map' };
  const [call] = recordedTools(withResult([image, text])).calls;
  expect(call?.result).toEqual(toolResult([{ type: 'image', mediaType: 'image/png', data: 'iVBO' }, text as never]));
});

test('an id that is used again has each time the result of its own step', () => {
  expect(recordedTools(withResult('first', 'second')).calls.map(({ result }) => result)).toEqual(['first', 'second']);
});

test('arguments that are cut off stay text', () => {
  const [, second] = exchanges('anthropic-messages').exchanges;
  const recording: Recording = {
    ...exchanges('openai-chat'),
    exchanges: [
      {
        request: null,
        response: {
          status: 200,
          body: {
            choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{"at' } }] } }],
          },
        },
      },
      ...(second === undefined ? [] : [{ ...second, request: null }]),
    ],
  };
  expect(recordedTools(recording).calls).toEqual([{ id: 'a', toolName: 'look', input: '{"at', result: undefined }]);
});

describe('stand-ins', () => {
  test('are tools of the recorded names', () => {
    expect(standInTools(exchanges('anthropic-messages')).map(({ name }) => name)).toEqual(['weather', 'clock']);
  });

  test('answer by the recorded id, in any order', async () => {
    const [weather] = standInTools(exchanges('openai-chat'));
    expect(await answers(weather, 'call_b', 'call_a')).toEqual(['rain', 'sun']);
  });

  test('answer by the order of the calls where ids are others, and say so where nothing was recorded', async () => {
    const [weather] = standInTools(exchanges('gemini'));
    expect(await answers(weather, 'x', 'y', 'z', 'more')).toEqual([
      { output: 'snow' },
      { output: 'wind' },
      { output: 'mist' },
      'no recorded result',
    ]);
  });

  test('answer by order where one id stands for several calls', async () => {
    const [look] = standInTools(withResult('first', 'second'));
    expect(await answers(look, 'again', 'again')).toEqual(['first', 'second']);
  });

  test('are not made for names that providers refuse', () => {
    const { exchanges: recorded, ...rest } = exchanges('openai-chat');
    const renamed = JSON.parse(JSON.stringify(recorded).replaceAll('"weather"', '"server:weather"'));
    expect(standInTools({ ...rest, exchanges: renamed })).toEqual([]);
  });
});

describe.skipIf(recordings.length === 0)(`the recordings of real providers${LEFT_OUT}`, () => {
  test.each(recordings)('%s can be read', (_, file) => {
    const tools = recordedTools(readRecording(file));
    expect(new Set(tools.calls.map(({ toolName }) => toolName))).toEqual(new Set(tools.names));
    expect(() => standInTools(readRecording(file))).not.toThrow();
  });

  test('ten steps of research give nine calls of three tools, each with its result', () => {
    const tools = recordedTools(recordingNamed('anthropic-json-research-10-steps'));
    expect(tools.names).toEqual(['web_search', 'read_website', 'generate_report']);
    expect(tools.calls.map(({ toolName }) => toolName)).toEqual([
      ...Array(6).fill('web_search'),
      ...Array(2).fill('read_website'),
      'generate_report',
    ]);
    expect(tools.calls.every(({ result }) => typeof result === 'string' && result.length > 0)).toBe(true);
    expect(tools.resultFor('read_website', 0)).toMatch(/^Content from https:\/\/www\.gart/);
  });

  test('two parallel calls in many pieces give their arguments and results', () => {
    const tools = recordedTools(recordingNamed('openai-chat-stream-parallel'));
    expect(tools.calls.map(({ toolName, input, result }) => [toolName, input, result])).toEqual([
      ['add', { a: 2, b: 3 }, '5'],
      ['multiply', { a: 2, b: 3 }, '6'],
    ]);
  });

  test('tools that the provider runs are not among them', () => {
    expect(recordedTools(recordingNamed('anthropic-stream-mcp-connector')).names).toEqual([]);
    expect(recordedTools(recordingNamed('gemini-json-builtin-and-function')).names).toEqual(['calculator']);
    expect(recordedTools(recordingNamed('openai-responses-stream-tool-search')).names).toEqual(['get_exchange_rate']);
  });
});
