/** Every recorded exchange with a provider, run as turns through the real provider packages of three generations, over loopback. */
import { isDeepStrictEqual } from 'node:util';
import { assertPaired } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { LEFT_OUT, readRecording, recordings } from '../exchanges/read.ts';
import type { Playing } from './expected.ts';
import { GENERATIONS, type Generation } from './packages.ts';
import { pageWith, readPage, type Shown, type Verdict, writePage } from './providers-page.ts';
import { errorBehind, expectationOf, expectedSummary, type Observed, observe } from './summary.ts';
import { EXPECTED } from './table.ts';

const cases = recordings.flatMap(([name, file]) =>
  (EXPECTED[name]?.plays ?? []).flatMap(playing =>
    GENERATIONS.map(generation => {
      const title = playing.title === undefined ? name : `${name}, ${playing.title},`;
      return [title, generation, { name, file, playing }] as const;
    }),
  ),
);

const played = new Map<string, Promise<Observed>>();

/** Plays it once, for the test of its own and for the page. */
function play(name: string, file: string, playing: Playing, generation: Generation): Promise<Observed> {
  const key = `${name} ${playing.title ?? ''} ${generation}`;
  const known = played.get(key) ?? observe(readRecording(file), EXPECTED[name]!, playing, generation);
  played.set(key, known);
  return known;
}

describe.runIf(recordings.length > 0)(`recorded exchanges${LEFT_OUT}`, () => {
  it('are all in the table, and no other is', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual(recordings.map(([name]) => name).sort());
  });

  it.each(cases)('%s ends as it should with AI SDK %i', async (_, generation, { name, file, playing }) => {
    const expected = expectationOf(playing, generation);
    const observed = await play(name, file, playing, generation);
    expect(observed.summary).toEqual(expectedSummary(readRecording(file), expected));
    assertPaired(observed.history);
    if (expected.unreadable !== undefined) expect(errorBehind(observed)).toMatchObject({ name: expected.unreadable });
  });

  it('are told of in docs/providers.md as they were played', { timeout: 60_000 }, async () => {
    const shown: Shown[] = [];
    for (const [name, file] of recordings) {
      const verdicts = {
        7: await verdict(name, file, 7),
        6: await verdict(name, file, 6),
        5: await verdict(name, file, 5),
      };
      shown.push({ recording: readRecording(file), entry: EXPECTED[name]!, verdicts });
    }
    const page = pageWith(shown);
    if (process.env.UPDATE_DOCS === '1') writePage(page);
    expect(readPage()).toBe(page);
  });
});

/** Whether the recording came to what is expected of every generation, whatever the table has against this one. */
async function verdict(name: string, file: string, generation: Generation): Promise<Verdict> {
  const [playing] = EXPECTED[name]!.plays;
  const { summary } = await play(name, file, playing, generation);
  if (isDeepStrictEqual(summary, expectedSummary(readRecording(file), playing))) return 'yes';
  return playing.differences?.[generation]?.unreadable === undefined ? 'in part' : 'no';
}
