/** `--model` with real provider packages, against a server on this machine: what is shown while a model answers, and when it does not. */
import type { Recording } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { startReplay } from '../support/replay-server.ts';
import { askedAt, KEY } from './at-server.ts';
import { holdBehind } from './held-server.ts';
import { command, play, playInTerminal } from './play.ts';
import { runProgram, startProgram } from './program.ts';
import { startInPipe, startInTerminal } from './terminal.ts';
import { ANSWER, familyNames, THOUGHT, thinkingRecording } from './thinking.ts';

const [FIRST_WORDS, LAST_WORDS] = ANSWER.map(piece => piece.trim()) as [string, string];

/** An error body that every provider package reads the message of. */
function problem(code: number, message: string): object {
  return { type: 'error', error: { type: 'problem', code, status: 'PROBLEM', message } };
}

/** What is told of the tokens: the same for all families, but that one does not count reasoning apart. */
function tokens(family: string): string {
  return `120 tokens: 100 in (40 cached), 20 out${family === 'anthropic' ? '' : ' (12 reasoning)'} · `;
}

describe.each(familyNames)('a model of the family %s', family => {
  const recording = thinkingRecording(family);

  it('is seen to think, dimmed, while it thinks', async () => {
    await using server = await holdBehind(THOUGHT[0].trim(), recording);
    const asked = askedAt(server.url, recording);
    const { screen, sees, ended } = startInTerminal(command(asked), asked);
    await sees('They ask for');
    expect(screen.lookOf('They ask for')).toBe('dim');
    expect(screen.text).not.toContain('the weather');
    server.release();
    await ended;
    expect(screen.lookOf('They ask for the weather.')).toBe('dim');
  });

  it('is seen to answer while it answers, and then what it cost', async () => {
    await using server = await holdBehind(FIRST_WORDS, recording);
    const asked = askedAt(server.url, recording);
    const { screen, sees, answer, ended } = startInTerminal(command(asked), asked);
    await sees(FIRST_WORDS);
    expect(screen.lookOf(FIRST_WORDS)).toBe('plain');
    expect(screen.text).not.toContain(LAST_WORDS);
    server.release();
    expect((await ended).exitStatus).toBe(0);
    expect(answer()).toBe('It is sunny.\n');
    expect(screen.lines.slice(-6, -2)).toEqual(['They ask for the weather.', '', 'It is sunny.', '']);
    expect(screen.lines.at(-2)).toBe('✓ done · steps 1 · iterations 0/25 · calls 0/100 · parallel peak 0/8');
    expect(screen.lines.at(-1)?.startsWith(tokens(family))).toBe(true);
  });

  it('tells a program what comes while it comes', async () => {
    await using server = await holdBehind(FIRST_WORDS, recording);
    const asked = askedAt(server.url, recording);
    const { said, ended } = startProgram(command(asked, ['--json']), { env: asked.env });
    await said('"type":"reasoning.delta"');
    await said(JSON.stringify(ANSWER[0]));
    server.release();
    const { status, stdout } = await ended;
    const result = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(status).toBe(0);
    expect(result).toMatchObject({
      text: 'It is sunny.',
      usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens: 20, totalTokens: 120 },
    });
  });

  it('is seen to answer in a terminal without colour too, in plain lines', async () => {
    await using server = await holdBehind(FIRST_WORDS, recording);
    const { model, env } = askedAt(server.url, recording);
    const { screen, sees, answer, ended } = startInTerminal(command({ model }), { env: { ...env, NO_COLOR: '1' } });
    await sees(`thinking: They ask for the weather.\n${FIRST_WORDS}`);
    expect(screen.text).not.toContain(LAST_WORDS);
    server.release();
    await ended;
    expect(answer()).toBe('It is sunny.\n');
    expect(screen.lookOf('They ask for the weather.')).toBe('plain');
  });

  it('gives a pipe the answer alone, and tells what it thinks beside it', async () => {
    const { status, stdout, stderr } = await play(recording);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'It is sunny.\n' });
    expect(stderr).toContain('\nthinking: They ask for the weather.\ndone · steps 1 · ');
    expect(stderr).toContain(tokens(family));
  });

  it('is asked again where it was overloaded, and that is told', async () => {
    const fail = { index: 0, status: 503, headers: { 'retry-after-ms': '0' }, body: problem(503, 'Overloaded') };
    const { status, stdout, stderr } = await play(recording, [], { fail });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'It is sunny.\n' });
    expect(stderr).toContain('\nthe request failed (Overloaded): trying again in 0 ms (2 of 3)\n');
  });

  it('whose connection is cut says again what was dropped', async () => {
    const twice = thinkingRecording(family, 2);
    const cut = { index: 0, bytes: bytesThrough(twice, FIRST_WORDS) };
    const [piped, seen] = await Promise.all([play(twice, [], { cut }), playInTerminal(twice, [], { cut })]);
    expect({ status: piped.status, stdout: piped.stdout }).toEqual({ status: 0, stdout: 'It is sunny.\n' });
    expect(piped.stderr).toMatch(
      /\nthe request failed \(.*\): trying again in .* \(2 of 3\); what .* above is dropped\n/,
    );
    const rows = seen.screen.text.replaceAll(/\n(?=\S)/g, ' ');
    expect(seen.status).toBe(0);
    expect(rows).toMatch(/It is\n the request failed .* \(2 of 3\); what this step has said above is dropped\n/);
    expect(seen.screen.lookOf('the request failed')).toBe('yellow');
    expect(seen.screen.text).toMatch(/dropped\n\nThey ask for the weather\.\n\nIt is sunny\.\n\n✓ done/);
  });

  it.each([
    [401, 'refused the request (401: injected): check the key in '],
    [404, 'found nothing (404: injected): check the name of the model, thinker, and the address in '],
    [429, 'takes no more requests now (429: injected): wait a while'],
  ])('that answers %i is one sentence with advice, and status 1', async (status, words) => {
    // A longer wait than the program accepts: it does not ask again.
    const fail = { index: 0, status, headers: { 'retry-after': '4000' } };
    const { stdout, stderr, asked, ...ended } = await play(recording, [], { fail });
    expect({ status: ended.status, stdout }).toEqual({ status: 1, stdout: '' });
    const [header, prompt, sentence, figures, ...rest] = stderr.split('\n');
    expect({ prompt, rest }).toEqual({ prompt: 'prompt: hi', rest: [''] });
    expect(header).toMatch(/^looprig · model: .*thinker.* at 127\.0\.0\.1:\d+ · folder: /);
    expect(sentence).toMatch(/^looprig: \S+ /);
    expect(sentence).toContain(words);
    if (status === 401) expect(sentence?.endsWith(asked.keyVariable)).toBe(true);
    expect(figures).toMatch(/^failed · steps 0 /);
  });

  it('never lets the key out, though the provider repeats it', async () => {
    const body = problem(401, `the key ${KEY} is spent`);
    for (const options of [[], ['--json'], ['--quiet'], ['--debug']]) {
      const { status, stdout, stderr, received } = await play(recording, options, {
        fail: { index: 0, status: 401, body },
      });
      expect(status).toBe(1);
      expect(received).toHaveLength(1);
      expect(stderr).toContain('the key [redacted] is spent');
      expect(stdout + stderr).not.toContain(KEY);
    }
  });
});

/** How many bytes of the first response there are through the event with `text` in it. */
function bytesThrough({ exchanges: [first] }: Recording, text: string): number {
  const sse = first?.response.sse ?? '';
  return Buffer.byteLength(sse.slice(0, sse.indexOf('\n\n', sse.indexOf(text)) + 2));
}

describe('an interrupt in the middle of an answer', () => {
  const recording = thinkingRecording('openai');

  it('leaves what was shown, and gives status 130', async () => {
    await using server = await holdBehind(FIRST_WORDS, recording);
    const asked = askedAt(server.url, recording);
    const { screen, sees, stop, answer, ended } = startInTerminal(command(asked), asked);
    await sees(FIRST_WORDS);
    stop('SIGINT');
    expect((await ended).exitStatus).toBe(130);
    expect(answer()).toBe('It is \n');
    expect(screen.text).toMatch(/\nIt is\n\ninterrupting the turn; .*\n\n■ interrupted · /);
  });

  it('gives a pipe no half answer, but tells it beside', async () => {
    await using server = await holdBehind(FIRST_WORDS, recording);
    const asked = askedAt(server.url, recording);
    const { sees, stop, stdout, stderr, ended } = startInPipe(command(asked), asked);
    await sees('thinking: They ask for the weather.'); // it is told when the answer begins
    stop('SIGINT');
    expect((await ended).exitStatus).toBe(130);
    expect(stdout()).toBe('');
    expect(stderr()).toMatch(/\nnot finished: It is\ninterrupted · steps 1 · /);
  });
});

it('an address at which nothing answers is one sentence that names it', async () => {
  const asked = askedAt('http://127.0.0.1:1', thinkingRecording('openai'));
  const server = await startReplay(thinkingRecording('openai'));
  await server.close(); // nothing listens there any more
  const env = { ...asked.env, OPENAI_BASE_URL: `${server.url}/v1` };
  const { status, stdout, stderr } = await runProgram(command(asked), { env });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain(
    `\nlooprig: nothing answers at ${server.url}, in 3 tries: check the address in OPENAI_BASE_URL, or start what should answer there\n`,
  );
});

it.each([
  ['localhost:1234', 'must be an address that begins with http:// or https://'],
  ['http://me:secret@localhost/v1', 'must be an address without a password'],
])('an address in the environment that is none is refused, and not repeated: %s', async (address, words) => {
  const asked = askedAt('http://127.0.0.1:1', thinkingRecording('anthropic'));
  const { status, stderr } = await runProgram(command(asked), { env: { ...asked.env, ANTHROPIC_BASE_URL: address } });
  expect(status).toBe(2);
  expect(stderr).toBe(`looprig: ANTHROPIC_BASE_URL ${words}\n`);
});
