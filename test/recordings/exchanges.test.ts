/**
 * The small exchanges that were written by hand, over loopback and in memory, so that every wire format is played where there are no
 * recordings; and two recordings in memory in the way in which they were not recorded.
 */
import { defineLoop, defineRig } from 'looprig';
import { assertPaired, collect, type Recording, recordedTools, replayModel, standInTools } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { exchanges, exchangesInOneWay, LEFT_OUT, readRecording, recordings } from '../exchanges/read.ts';
import { read } from './bodies.ts';
import type { Entry, ExpectedTurn } from './expected.ts';
import { GENERATIONS } from './packages.ts';
import { expectedSummary, observe } from './summary.ts';

const answer = (responses: number): ExpectedTurn => ({ ends: 'answer', responses });

const OWN: Readonly<Record<string, Omit<Entry, 'shows'>>> = {
  'anthropic-messages': { calls: [['weather', 'clock'], []], plays: [{ turns: [answer(2)] }] },
  'openai-chat': { calls: [['weather', 'weather'], []], plays: [{ turns: [answer(2)] }] },
  'openai-responses': { calls: [['weather'], []], plays: [{ turns: [answer(2)] }] },
  gemini: { calls: [['weather', 'weather'], ['weather'], []], plays: [{ turns: [answer(3)] }] },
};

describe('an exchange written by hand', () => {
  const cases = Object.keys(OWN).flatMap(name => GENERATIONS.map(generation => [name, generation] as const));

  it.each(cases)('%s ends as it should over loopback with AI SDK %i', async (name, generation) => {
    const recording = exchangesInOneWay(name);
    const entry = { shows: '', ...OWN[name]! };
    const [playing] = entry.plays;
    const { summary, history } = await observe(recording, entry, playing, generation);
    expect(summary).toEqual(expectedSummary(recording, playing));
    expect(summary.calls.map(call => call.toolName)).toEqual(entry.calls.flat());
    assertPaired(history);
  });

  it.each(Object.keys(OWN).flatMap(name => [[name, true] as const, [name, false] as const]))(
    '%s runs in memory as a turn to its answer (stream: %s)',
    async (name, stream) => {
      await expectInMemory(exchanges(name), stream, OWN[name]!);
    },
  );
});

/** What Anthropic sends when it pauses, and when it has gone on. */
function paused(): Recording {
  const message = (text: string, stop_reason: string) => ({
    request: null,
    response: {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-test', stop_sequence: null, stop_reason },
        content: [{ type: 'text', text }],
        usage: { input_tokens: 20, output_tokens: 2 },
      },
    },
  });
  const exchanges = [message('I am looking.', 'pause_turn'), message('Found.', 'end_turn')];
  return { name: 'paused', provider: 'anthropic', api: 'anthropic-messages', model: 'claude-test', exchanges };
}

describe('a response that the provider only paused', () => {
  const entry = { shows: '', calls: [[], []] };

  it.each([7, 6] as const)('goes back, and the turn goes on, with AI SDK %i', async generation => {
    const playing = { turns: [answer(2)] };
    const { summary } = await observe(paused(), { ...entry, plays: [playing] }, playing, generation);
    expect(summary).toEqual(expectedSummary(paused(), playing));
  });

  it('looks like an answer with AI SDK 5, which does not tell what the provider said', async () => {
    const playing = { turns: [answer(1)] };
    const { summary } = await observe(paused(), { ...entry, plays: [playing] }, playing, 5);
    expect(summary).toEqual(expectedSummary(paused(), playing));
  });
});

describe.runIf(recordings.length > 0)(`a recording${LEFT_OUT}`, () => {
  it.each([
    ['anthropic-json-research-10-steps', true, 9],
    ['openai-chat-stream-parallel', false, 2],
  ])('%s runs in memory, in the way it was not recorded (stream: %s)', async (name, stream, calls) => {
    const recording = readRecording(recordings.find(([known]) => known === name)![1]);
    const history = await expectInMemory(recording, stream);
    expect(recordedTools(recording).calls).toHaveLength(calls);
    expect(history.at(-1)?.role).toBe('assistant');
  });
});

async function expectInMemory(recording: Recording, stream: boolean, entry?: Omit<Entry, 'shows'>) {
  const model = await replayModel(recording);
  const loop = defineLoop({ name: 'replay', model, tools: standInTools(recording), stream, repeat: false });
  await using session = await defineRig({ loops: [loop] }).open();
  const { events, result } = await collect(session.submit('Go.'));
  const { text } = read(recording, recording.exchanges.at(-1)!.response);
  expect(text).not.toBe('');
  expect(result).toMatchObject({ status: 'done', text, finishReason: { unified: 'stop' } });
  expect(model.received).toHaveLength(recording.exchanges.length);
  assertPaired(session.history);
  const called = events.filter(event => event.type === 'tool.called');
  const { calls } = recordedTools(recording);
  expect(called.map(({ toolName, input }) => ({ toolName, input }))).toEqual(
    calls.map(({ toolName, input }) => ({ toolName, input })),
  );
  if (entry !== undefined) expect(called.map(event => event.toolName)).toEqual(entry.calls.flat());
  return session.history;
}
