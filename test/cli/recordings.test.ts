/** Exchanges and recordings played to the program as a user would have seen them: its tools are not those that the models ask for. */
import { describe, expect, it } from 'vitest';
import { exchanges, LEFT_OUT, readRecording, recordings } from '../exchanges/read.ts';
import { KEY } from './at-server.ts';
import { play, playInTerminal } from './play.ts';

describe('tools that the program does not have', () => {
  it.each([
    ['anthropic-messages', [], 'It is sunny in Zürich.', ['weather {"city":"Zürich"}', 'clock']],
    ['openai-responses', [], 'Fog in Basel.', ['weather {"city":"Basel"}']],
    [
      'openai-chat',
      ['--no-stream'],
      'Sun in Bern, rain in Genf.',
      ['weather {"city":"Bern"}', 'weather {"city":"Genf"}'],
    ],
  ])('are refused in a sentence, and the model of %s goes on to its answer', async (name, options, answer, calls) => {
    const { status, stdout, stderr } = await play(exchanges(name), options);
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${answer}\n` });
    for (const call of calls) expect(stderr).toContain(`✗ ${call} (refused): unknown tool "${call.split(' ')[0]}"`);
  });
});

/** Recordings of which the program does not make an answer, with its exit status. */
const WITHOUT_ANSWER: Readonly<Record<string, number>> = {
  'anthropic-stream-empty-text': 1,
  'compat-groq-json-400-tool-use-failed': 1,
  'compat-mistral-json-unicode-args': 1,
  'derived-anthropic-stream-max-tokens-in-call': 1,
  'gemini-json-parallel-no-ids': 1,
  'gemini-stream-same-call-6-times': 3,
  'openai-chat-stream-19-tools': 1,
  'openai-responses-json-custom-tool': 1,
  'openai-responses-json-interleaved-reasoning': 1,
  'openai-responses-stream-mcp-approval': 1,
};

describe.runIf(recordings.length > 0)(`recordings of real providers${LEFT_OUT}`, () => {
  it.for(recordings)('%s is played to its end in a terminal', async ([name, file]) => {
    const recording = readRecording(file);
    const options = recording.exchanges[0]?.response.sse === undefined ? ['--no-stream'] : [];
    const { status, screen, answer } = await playInTerminal(recording, options, { split: 'awkward' });
    expect(status).toBe(WITHOUT_ANSWER[name] ?? 0);
    expect(screen.wraps).toBe(0);
    expect(screen.text).not.toContain(KEY);
    expect(screen.lines.at(-1)).toMatch(/ms$|s$/);
    const marks = { 0: '✓', 1: '✗', 3: '■' };
    expect(screen.text).toContain(`\n${marks[status as 0 | 1 | 3]} `);
    if (status !== 1) expect(answer().trim()).not.toBe('');
  });
});
