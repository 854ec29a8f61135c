/** What documents show as output looks like what is really printed: the same words, with other figures in them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineLoop, defineRig } from 'looprig';
import { scriptedModel, scriptedTool } from 'looprig/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { runProgram } from '../cli/program.ts';
import { codeBlocks, ROOT, read } from './blocks.ts';

mkdirSync(join(ROOT, 'temp'), { recursive: true });
const folder = mkdtempSync(join(ROOT, 'temp/outputs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The lines of the blocks of a document that stand under no language. */
const shownIn = (document: string): string[] =>
  codeBlocks(document)
    .filter(({ language }) => language === '')
    .flatMap(({ code }) => code.trim().split('\n'));

/** A text with figures and ids taken out, so that only its words are left. */
const shape = (text: string): string => text.replace(/[0-9a-f]{8,}/g, '#').replace(/\d[\d,.]*/g, '#');

describe('docs/command-line.md shows', () => {
  const shown = shownIn('docs/command-line.md');
  const line = (word: string): string => shape(shown.find(one => one.includes(word)) ?? `nothing with "${word}"`);

  it('how a run ends, and the list of sessions', async () => {
    const env = { LOOPRIG_STORE: join(folder, 'sessions.db') };
    const { stderr } = await runProgram(['run', 'What is in this folder?', '--workspace', 'docs'], { cwd: ROOT, env });
    const told = shape(stderr);
    expect(told).toContain(line('parallel peak').replace('✓ ', ''));
    expect(told).toContain(line('to go on:').split('"')[0]?.trim());
    expect(told).toMatch(/# tokens: # in.*, # out/);
    const { stdout } = await runProgram(['sessions'], { env });
    const head = (text: string): string[] => text.split(/ +/);
    expect(head(stdout.split('\n')[0] ?? '')).toEqual(head(shown.find(one => one.startsWith('id ')) ?? ''));
    expect(stdout).toContain('What is in this folder?');
  });
});

describe('docs/limits.md shows', () => {
  it('the note in a long result', async () => {
    const long = scriptedTool('long', { returns: 'a'.repeat(2_000_000) });
    const model = scriptedModel([{ calls: [{ tool: 'long' }] }, { text: 'It is long.' }]);
    const loop = defineLoop({ name: 'agent', model, tools: [long.definition] });
    await using session = await defineRig({ loops: [loop] }).open();
    await session.run('Go.');
    const note = /\[\.\.\. [^\]]*\]/.exec(JSON.stringify(session.history))?.[0].replaceAll('\\"', '"') ?? 'no note';
    expect(shape(shownIn('docs/limits.md').join('\n'))).toContain(shape(note));
  });
});

/** Words of conversations, questions and streams that a test elsewhere brings about. */
const WORDS: readonly (readonly [document: string, source: string, words: string])[] = [
  ['docs/command-line.md', 'src/cli/resume-command.ts', 'taking up an unfinished turn: '],
  ['docs/command-line.md', 'src/cli/gate-desk.ts', '  allow? y, n, a, e, s, q (?: help) ›'],
  ['docs/command-line.md', 'src/cli/chat/terminal-front.ts', '  goes in at the next step'],
  ['docs/command-line.md', 'src/cli/chat/terminal-front.ts', '  waits for its turn'],
  ['docs/server.md', 'src/server/event-routes.ts', 'retry: '],
  ['docs/server.md', 'src/server/sse.ts', ': still here'],
];

it.each(WORDS)('%s shows what %s says: "%s"', (document, source, words) => {
  expect(shownIn(document).join('\n')).toContain(words);
  expect(read(source)).toContain(words);
});
