/** What a model thinks: asked for, shown or hidden. */
import { describe, expect, it } from 'vitest';
import { startReplay } from '../support/replay-server.ts';
import { askedAt } from './at-server.ts';
import { holdBehind } from './held-server.ts';
import { command, play } from './play.ts';
import { runProgram } from './program.ts';
import { startInTerminal } from './terminal.ts';
import { familyNames, THOUGHT, thinkingRecording } from './thinking.ts';

describe('what a model thinks', () => {
  const recording = thinkingRecording('anthropic');

  it('is not seen with --hide-reasoning: only that it thinks', async () => {
    await using server = await holdBehind(THOUGHT[0].trim(), recording);
    const asked = askedAt(server.url, recording);
    const { screen, sees, ended } = startInTerminal(command(asked, ['--hide-reasoning']), asked);
    await sees('the model thinks');
    server.release();
    await ended;
    expect(screen.text).not.toContain('They ask for');
    expect(screen.text).not.toContain('the model thinks');
    expect(screen.text).toContain('It is sunny.');
  });

  it.each([[['--hide-reasoning']], [['--quiet']], [['--json', '--hide-reasoning']]])(
    'is left out with %j',
    async options => {
      const { status, stdout, stderr } = await play(recording, options);
      expect(status).toBe(0);
      expect(stdout + stderr).not.toContain('They ask for');
      expect(stdout).toContain('It is sunny.');
    },
  );

  it('is wrapped at words in a narrow window', async () => {
    await using server = await startReplay(recording);
    const asked = askedAt(server.urlFor(recording.name), recording);
    const { screen, ended } = startInTerminal(command(asked), { ...asked, columns: 20 });
    await ended;
    expect(screen.text).toContain('\nThey ask for the\nweather.\n\nIt is sunny.\n');
    expect(screen.wraps).toBe(0);
  });

  it.each([
    ['anthropic', 'high', 'thinking', expect.objectContaining({ type: 'enabled' })],
    ['anthropic', 'none', 'thinking', { type: 'disabled' }],
    ['openai', 'low', 'reasoning', expect.objectContaining({ effort: 'low', summary: expect.any(String) })],
    ['google', 'medium', 'generationConfig', { thinkingConfig: expect.objectContaining({ includeThoughts: true }) }],
    ['compatible', 'minimal', 'reasoning_effort', 'minimal'],
  ] as const)('is asked of %s with --reasoning %s', async (family, level, field, value) => {
    const named = { anthropic: 'claude-haiku-4-5', openai: 'gpt-5', google: 'gemini-2.5-flash', compatible: 'thinker' };
    const { status, received } = await play({ ...thinkingRecording(family), model: named[family] }, [
      '--reasoning',
      level,
    ]);
    expect(status).toBe(0);
    expect(received[0]?.body).toMatchObject({ [field]: value });
  });

  it.each(familyNames)('is for the provider %s to decide where nothing is said', async family => {
    const { received } = await play(thinkingRecording(family));
    for (const field of ['thinking', 'reasoning', 'reasoning_effort', 'thinkingConfig']) {
      expect(received[0]?.text).not.toContain(`"${field}"`);
    }
  });

  it('is not asked of a model that answers here', async () => {
    const { status, stderr } = await runProgram(['run', '--reasoning', 'low', '--workspace', 'test']);
    expect(status).toBe(2);
    expect(stderr).toBe('looprig: --reasoning is for models of providers: leave it out for demo\n');
  });
});
