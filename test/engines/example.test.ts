import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { HAS_POSTGRES } from '../support/postgres-server.ts';
import { HAS_RESTATE, RESTATE_LEFT_OUT } from '../support/restate-server.ts';

const root = join(import.meta.dirname, '../..');

it.runIf(HAS_POSTGRES && HAS_RESTATE)(
  `examples/scale starts servers, workers and a page, and its turn outlives a worker${RESTATE_LEFT_OUT}`,
  { timeout: 120_000 },
  async () => {
    if (!existsSync(join(root, 'dist/cli/main.js')))
      throw new Error('the package is not built: run `npm run build` first');
    // Told to end in good time, it ends what it has started; a test that is given up would leave all of that behind.
    const options = { cwd: root, timeout: 100_000, killSignal: 'SIGINT' } as const;
    const { stdout } = await promisify(execFile)(process.execPath, ['examples/scale/start.ts', '--try'], options);
    expect(stdout).toContain('a worker was killed, the order approved, and the turn is done');
  },
);
