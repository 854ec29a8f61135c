/** The reader of recorded calls, held against what else the recordings say: the table, and what the recorded clients made of the same bodies. */
import { recordedTools } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { wireFormat } from '../../src/testing/wire-formats.ts';
import { LEFT_OUT, readRecording, recordings } from '../exchanges/read.ts';
import { at, list } from './json.ts';
import { messagesOf } from './requests.ts';
import { EXPECTED } from './table.ts';

/** Clients that did not take their calls from the bodies as they are. */
const OWN_WAYS = new Map([
  ['compat-deepseek-json-reasoning', 'put a search for tools of its own between'],
  ['compat-groq-json-400-tool-use-failed', 'made a call out of the error'],
  ['openai-chat-json-tool-limit', 'kept the first call of each response'],
]);

interface Call {
  readonly name: unknown;
  readonly input: unknown;
}

/** All calls that a request repeats as those of the model. */
function repeatedCalls(body: unknown): Call[] {
  return messagesOf(body).flatMap(message => {
    const type = at(message, 'type');
    if (type === 'function_call' || type === 'custom_tool_call') return [fromArguments(message)];
    const blocks = list(at(message, 'content')).filter(block => at(block, 'type') === 'tool_use');
    const parts = list(at(message, 'parts')).map(part => at(part, 'functionCall'));
    return [
      ...list(at(message, 'tool_calls')).map(call => fromArguments(at(call, 'function'))),
      ...blocks.map(block => ({ name: at(block, 'name'), input: at(block, 'input') })),
      ...parts
        .filter(call => call !== undefined)
        .map(call => ({ name: at(call, 'name'), input: at(call, 'args') ?? {} })),
    ];
  });
}

function fromArguments(call: unknown): Call {
  const written = String(at(call, 'arguments') ?? '');
  return { name: at(call, 'name'), input: written === '' ? {} : JSON.parse(written) };
}

describe.runIf(recordings.length > 0)(`the reader of recorded calls${LEFT_OUT}`, () => {
  it.each(recordings)('finds in %s the calls that the table has', (name, file) => {
    const { api, exchanges } = readRecording(file);
    const found = exchanges.map(({ response }) => wireFormat(api).calls(response));
    expect(found.map(calls => calls.map(call => call.name))).toEqual(EXPECTED[name]!.calls);
  });

  const repeating = recordings.flatMap(([name, file]) => {
    const recording = readRecording(file);
    const calls = repeatedCalls(recording.exchanges.at(-1)!.request?.body);
    return calls.length > 0 && !OWN_WAYS.has(name) ? [[name, recording, calls] as const] : [];
  });

  it('is held against the recorded clients of 23 recordings', () => {
    expect(repeating).toHaveLength(23);
  });

  it.each(repeating)(
    'finds in %s the calls that the recorded client repeats, and their answers',
    (_, recording, calls) => {
      const earlier = recording.exchanges.slice(0, -1);
      const found = earlier.flatMap(({ response }) => wireFormat(recording.api).calls(response));
      expect(found.map(({ name, input }) => ({ name, input }))).toEqual(calls);
      const answered = recordedTools(recording).calls.slice(0, calls.length);
      expect(answered.filter(call => call.result === undefined)).toEqual([]);
    },
  );
});
