import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeRunsFolder, runsFolder } from './run-settings.ts';
import { isLocked, lockSession, SessionInUseError } from './session-lock.ts';
import type { StorePlace } from './store-place.ts';

let place: StorePlace;

beforeEach(async () => {
  place = { file: join(await mkdtemp(join(tmpdir(), 'looprig-lock-')), 'sessions.db'), isDefault: false };
});

afterEach(() => rm(join(place.file, '..'), { recursive: true, force: true }));

it('a lock keeps others out of its session alone, until it is given back, and leaves nothing behind', async () => {
  expect(await isLocked(place, 'a')).toBe(false);
  const lock = await lockSession(place, 'a', 'shown');
  await expect(lockSession(place, 'a', 'shown')).rejects.toThrow(
    new SessionInUseError('another process works on session shown: wait until it has ended'),
  );
  const other = await lockSession(place, 'b', 'b');
  expect([await isLocked(place, 'a'), await isLocked(place, 'b'), await isLocked(place, 'c')]).toEqual([
    ...[true, true, false],
  ]);
  await lock.release();
  expect([await isLocked(place, 'a'), await isLocked(place, 'b')]).toEqual([false, true]);
  await other.release();
  expect(await readdir(runsFolder(place))).toEqual([]);
});

it('what a process that was killed left behind locks nothing', async () => {
  await makeRunsFolder(place);
  await writeFile(join(runsFolder(place), 'a.lock'), '');
  expect(await isLocked(place, 'a')).toBe(false);
  await (await lockSession(place, 'a', 'a')).release();
});

it('looking whether there is a lock does not lock', async () => {
  await makeRunsFolder(place);
  await writeFile(join(runsFolder(place), 'a.lock'), '');
  const looked = await Promise.all(Array.from({ length: 5 }, () => isLocked(place, 'a')));
  expect(looked).toEqual([false, false, false, false, false]);
});

it('an id that is no file name is one all the same', async () => {
  const lock = await lockSession(place, '../up', 'up');
  expect(await readdir(runsFolder(place))).toEqual(['..%2Fup.lock']);
  await lock.release();
});
