import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SecretFilter } from '../secrets.ts';
import { InputHistory } from './input-history.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-history-'));
  file = join(folder, 'history');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const secrets = new SecretFilter({ OPENAI_API_KEY: 'sk-0123456789' });

it('goes back to the first entry, and forward to what was being written', async () => {
  const history = await InputHistory.open(undefined, secrets);
  history.add('one');
  history.add('two\nlines');
  expect(history.forward()).toBeUndefined();
  expect([history.back('draft'), history.back('two\nlines'), history.back('one')]).toEqual([
    'two\nlines',
    'one',
    undefined,
  ]);
  expect([history.forward(), history.forward(), history.forward()]).toEqual(['two\nlines', 'draft', undefined]);
});

it('begins at the end again after an entry, and after what is none', async () => {
  const history = await InputHistory.open(undefined, secrets);
  history.add('one');
  history.add('two');
  history.back('');
  history.back('');
  history.add('one');
  expect(history.back('')).toBe('one');
  history.leave();
  expect(history.back('')).toBe('one');
});

it('is there at the next start, for this user alone, without repetitions, empty lines and keys', async () => {
  const history = await InputHistory.open(file, secrets);
  for (const text of ['one', 'one', '  ', 'key sk-0123456789', 'two\nlines', 'x'.repeat(20_000)]) history.add(text);
  await history.settled();
  expect(await readFile(file, 'utf8')).toBe('"one"\n"two\\nlines"\n');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const again = await InputHistory.open(file, secrets);
  expect(again.back('')).toBe('two\nlines');
});

it('keeps the last 500 entries, and leaves out what is none', async () => {
  const lines = Array.from({ length: 700 }, (_, index) => JSON.stringify(`entry ${index}`));
  await writeFile(file, ['{"no":"entry"}', 'no JSON', ...lines, ''].join('\n'));
  const history = await InputHistory.open(file, secrets);
  expect(history.back('')).toBe('entry 699');
  expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(501);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it('a file that cannot be written ends nothing', async () => {
  const history = await InputHistory.open(join(folder, 'missing', 'history'), secrets);
  history.add('one');
  await history.settled();
  expect(history.back('')).toBe('one');
});
