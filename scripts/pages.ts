/**
 * Bundles what is drawn with Preact: the report as one module, and the studio as a page. What is installed with looprig needs neither Preact nor a bundler.
 */
import { globSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, type InlineConfig, type Plugin } from 'vite';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src');

const report = join(source, 'report');

/** The part of the report that is drawn: what it bundles. Its model the command line uses too. */
const isDrawn = (path: string): boolean => path.startsWith(report) && !path.startsWith(join(report, 'model'));

/** What a report shares with the rest of the package stays where it is. */
const sharedModules: Plugin = {
  name: 'shared-modules',
  enforce: 'pre',
  async resolveId(id, importer) {
    if (importer === undefined || !id.startsWith('.')) return undefined;
    const resolved = await this.resolve(id, importer, { skipSelf: true });
    const path = resolved?.id.split('?', 1)[0] ?? '';
    if (!path.startsWith(source) || isDrawn(path)) return undefined;
    const built = relative(report, path).replaceAll('\\', '/').replace(/\.ts$/, '.js');
    return { id: built.startsWith('.') ? built : `./${built}`, external: 'absolute', moduleSideEffects: false };
  },
};

const common: InlineConfig = {
  configFile: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
};

/** The report, in the place of the modules that the compiler made of what is drawn. */
export async function buildReport(): Promise<void> {
  const folder = join(root, 'dist/report');
  for (const file of globSync('**/*.{js,js.map}', { cwd: folder, exclude: ['model/**'] })) rmSync(join(folder, file));
  for (const part of ['components', 'page.d.ts', 'page.d.ts.map'])
    rmSync(join(folder, part), { recursive: true, force: true });
  await build({
    ...common,
    root,
    plugins: [sharedModules],
    ssr: { noExternal: true },
    build: {
      ssr: join(source, 'report/index.ts'),
      outDir: folder,
      emptyOutDir: false,
      target: 'es2023',
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'index.js' } },
    },
  });
}

/** The studio, into `outDir`. */
export async function buildStudio(outDir: string = join(root, 'dist/studio')): Promise<void> {
  await build({
    ...common,
    root: join(source, 'studio'),
    base: './',
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      modulePreload: false,
      assetsInlineLimit: 0,
    },
  });
}
