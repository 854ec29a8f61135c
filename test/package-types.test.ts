/** The types of the package, as somebody with an older `lib` and no `skipLibCheck` has them. Needs a build. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-types-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it('the types of every entry point need no library newer than ES2022', { timeout: 60_000 }, async () => {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const files = Object.values(exports).flatMap(entry => (typeof entry === 'string' ? [] : [join(root, entry.types)]));
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, target: 'es2022', lib: ['es2022'], module: 'nodenext' },
    ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
  };
  const project = join(folder, 'tsconfig.json');
  await writeFile(project, JSON.stringify({ compilerOptions, files }));
  expect((await complaints(project)).filter(line => line.startsWith('dist/'))).toEqual([]);
});

/** What the compiler says, line by line: of other packages too, which are not ours to mend. */
async function complaints(project: string): Promise<readonly string[]> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const run = promisify(execFile)(process.execPath, [compiler, '--pretty', 'false', '-p', project], { cwd: root });
  return run.then(
    () => [],
    (error: { readonly stdout: string }) => error.stdout.split('\n'),
  );
}
