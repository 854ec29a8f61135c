/** Every file in `examples/` runs as it stands, on the built package, and prints what it says. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** Of each example, a line that shows that it did what it is about. */
const EXPECTED: Readonly<Record<string, string>> = {
  'ai-sdk.ts': 'tool-book: output-available "booked for 2"',
  'gates.ts': 'told: permission denied: a rule forbids fs.write on .env',
  'host.ts': 'asked again: the same turn, new: false',
  'limits.ts': 'failed: calls, 8 asked for, 7 allowed, 6 run',
  'middleware.ts': 'weather done after 3 attempts',
  'modes.ts': 'then with: read, edit at temperature 0',
  'parallel.ts': 'started: a.txt first, b.txt only, c.txt only, a.txt second, d.txt only',
  'quickstart.ts': 'There are 4 lamps and 5 chairs. (1 iteration, 2 calls)',
  'resume.ts':
    'second process: the model was told of "pay": interrupted: the process ended while it ran; it may or may not have taken effect',
  'steering.ts': '- interrupted; it may or may not have taken effect',
  'telemetry.ts': '500 to 700 ms: execute_tool weather (failed)',
  'testing.ts': '20 events, 10 minutes on the clock: all as expected',
  'workspace.ts': '- buy 4 lamps',
};

interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string): Promise<Ended> {
  return new Promise(resolve => {
    const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' };
    execFile(process.execPath, [file], { cwd: root, env, timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? 'stopped'), stdout, stderr });
    });
  });
}

describe('examples', () => {
  const files = readdirSync(join(root, 'examples'))
    .filter(name => name.endsWith('.ts'))
    .sort();

  it('are the files that are expected here, each under 60 lines', () => {
    expect(files).toEqual(Object.keys(EXPECTED).sort());
    const long = files.filter(file => readFileSync(join(root, 'examples', file), 'utf8').split('\n').length > 60);
    expect(long).toEqual([]);
  });

  it.each(files)('%s runs to its end and prints what it promises', async file => {
    if (!existsSync(join(root, 'dist/index.js')))
      throw new Error('the package is not built: run `npm run build` first');
    const { code, stdout, stderr } = await run(join('examples', file));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toContain(EXPECTED[file]);
  });

  it("README.md's code block is examples/quickstart.ts", () => {
    const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)];
    expect(blocks.map(([, code]) => code)).toEqual([readFileSync(join(root, 'examples/quickstart.ts'), 'utf8')]);
  });
});
