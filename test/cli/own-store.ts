/** A store for the tests of one file: none of them touches that of whoever runs them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'looprig-store-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The variable that says where sessions are kept. */
export const OWN_STORE: Readonly<Record<'LOOPRIG_STORE', string>> = { LOOPRIG_STORE: join(folder, 'sessions.db') };
