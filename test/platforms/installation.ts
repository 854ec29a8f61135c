/** The package as its users get it: packed, unpacked in a folder of its own, with what it needs beside it, and nothing of this checkout. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Esbuild, esbuild, type ResolveArgs } from '../browser/services.ts';

const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** What the checks use beside the package and what it brings: a schema library, and optional peers. */
const BESIDE = ['zod', 'ai', 'hono', '@hono/node-server', '@modelcontextprotocol/client'];

/** What a page, or a runtime at the edge, does not have: modules of Node, and packages for servers and providers. */
const ABSENT =
  /^(node:|pg-boss$|pg$|@restatedev\/|@ai-sdk\/(anthropic|google|openai|openai-compatible)$|@hono\/node-server$)/;

/** A folder with the package installed in it, and the checks as one script. */
export interface Installation extends AsyncDisposable {
  readonly folder: string;
  /** The checks, to be played by a runtime: `runner.ts`, with every package imported from the installation. */
  readonly script: string;
}

/** Packs and installs the package, which must be built. */
export async function install(): Promise<Installation> {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the package is not built: run `npm run build` first');
  const folder = await mkdtemp(join(tmpdir(), 'looprig-installation-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await unpack(folder);
    const script = join(folder, 'checks.mjs');
    await bundle({
      entryPoints: [fileURLToPath(new URL('./runner.ts', import.meta.url))],
      outfile: script,
      platform: 'node',
      packages: 'external',
    });
    return { folder, script, [Symbol.asyncDispose]: remove };
  } catch (cause) {
    await remove();
    throw cause;
  }
}

async function unpack(folder: string): Promise<void> {
  const place = join(folder, 'node_modules/looprig');
  await mkdir(place, { recursive: true });
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const { name, version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const tarball = join(folder, `${name}-${version}.tgz`);
  await run('tar', ['-xzf', tarball, '-C', place, '--strip-components=1']);
  for (const needed of [...Object.keys(dependencies), ...BESIDE]) {
    const link = join(folder, 'node_modules', needed);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, 'node_modules', needed), link);
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
}

/**
 * The checks that web standards must be enough for, with all that they use, as one script. Modules of Node and optional packages are there as
 * ones that throw when they are first needed, so that what needs one at its beginning does not begin.
 */
export async function webScript({ folder }: Installation): Promise<string> {
  const file = join(folder, 'web-checks.js');
  const absences = {
    name: 'absences',
    setup(build: Build): void {
      build.onResolve({ filter: ABSENT }, ({ path }) => ({ path, namespace: 'absent' }));
      build.onLoad({ filter: /.*/, namespace: 'absent' }, ({ path }) => {
        return { contents: `module.exports = null; throw new Error('${path} is needed, and is not here')` };
      });
      build.onResolve({ filter: /^looprig(\/|$)/ }, ({ path, pluginData }) =>
        pluginData === 'here'
          ? undefined
          : build.resolve(path, { resolveDir: folder, kind: 'import-statement', pluginData: 'here' }),
      );
    },
  };
  await bundle({
    entryPoints: [fileURLToPath(new URL('./page.ts', import.meta.url))],
    outfile: file,
    platform: 'browser',
    plugins: [absences],
  });
  return readFileSync(file, 'utf8');
}

interface Build {
  onResolve(
    at: { readonly filter: RegExp },
    resolve: (args: ResolveArgs & { readonly pluginData?: unknown }) => unknown,
  ): void;
  onLoad(
    at: { readonly filter: RegExp; readonly namespace: string },
    load: (args: { readonly path: string }) => object,
  ): void;
  resolve(path: string, options: object): Promise<object>;
}

/** `tsconfigRaw` keeps the paths of this checkout out: `looprig` is the package that is installed. */
async function bundle(options: object): Promise<void> {
  const tool: Esbuild = esbuild();
  try {
    await tool.build({
      bundle: true,
      format: 'esm',
      target: 'es2024',
      logLevel: 'silent',
      tsconfigRaw: '{}',
      ...options,
    });
  } finally {
    await tool.stop();
  }
}
