/** Recorded provider exchanges, run as turns through the real provider packages, with stand-ins for the tools that were recorded. */
import { defineLoop, defineRig } from 'looprig';
import { assertPaired, collect, type Recording, recordedTools, replayModel, standInTools } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { exchanges, LEFT_OUT, readRecording, recordings } from '../exchanges/read.ts';

async function play(recording: Recording, stream: boolean) {
  const model = await replayModel(recording);
  const loop = defineLoop({ name: 'replay', model, tools: standInTools(recording), stream, repeat: false });
  await using session = await defineRig({ loops: [loop] }).open();
  const { events, result } = await collect(session.submit('go'));
  return { events, result, model, history: session.history };
}

describe('an exchange of our own', () => {
  const names = ['anthropic-messages', 'openai-chat', 'openai-responses', 'gemini'];
  it.each(names.flatMap(name => [[name, true] as const, [name, false] as const]))(
    '%s runs as a turn to its answer (stream: %s)',
    async (name, stream) => {
      const recording = exchanges(name);
      const { result, history, model, events } = await play(recording, stream);
      expect(result).toMatchObject({ status: 'done' });
      expect(model.received).toHaveLength(recording.exchanges.length);
      assertPaired(history);
      const called = events.filter(event => event.type === 'tool.called').map(event => event.toolName);
      expect(called).toEqual(recordedTools(recording).calls.map(call => call.toolName));
      const outcomes = events.flatMap(event => (event.type === 'tool.completed' ? [event.outcome] : []));
      expect(outcomes.every(outcome => outcome === 'done' || outcome === 'failed')).toBe(true);
    },
  );
});

describe.runIf(recordings.length > 0)(`recordings${LEFT_OUT}`, () => {
  const load = (name: string): Recording => readRecording(recordings.find(([known]) => known === name)![1]);

  it.each([true, false])('anthropic-json-research-10-steps ends in its recorded answer (stream: %s)', async stream => {
    const recording = load('anthropic-json-research-10-steps');
    const { result, history, events, model } = await play(recording, stream);
    const last = recording.exchanges.at(-1)!.response.body as { content: { text: string }[] };
    expect(result).toMatchObject({ status: 'done', text: last.content[0]!.text, steps: 10, iterations: 9, calls: 9 });
    expect(model.received).toHaveLength(10);
    assertPaired(history);
    const done = events.flatMap(event => (event.type === 'tool.completed' ? [[event.callId, event.outcome]] : []));
    expect(done).toEqual(recordedTools(recording).calls.map(call => [call.id, 'done']));
  });

  it.each([true, false])('openai-chat-stream-parallel ends in its recorded answer (stream: %s)', async stream => {
    const recording = load('openai-chat-stream-parallel');
    const { result, history, events } = await play(recording, stream);
    const recorded = recording.exchanges.at(-1)!.response.sse!.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g);
    const text = [...recorded].map(match => JSON.parse(`"${match[1]}"`)).join('');
    expect(text).not.toBe('');
    expect(result).toMatchObject({ status: 'done', text, steps: 2, iterations: 1, calls: 2 });
    assertPaired(history);
    const inputs = events.flatMap(event => (event.type === 'tool.called' ? [event.input] : []));
    expect(inputs).toEqual(recordedTools(recording).calls.map(call => call.input));
  });
});
