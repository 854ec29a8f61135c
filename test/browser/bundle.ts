/** Code bundled for a browser, as a page would have it. */
import { fileURLToPath } from 'node:url';
import { type BundledImport, type Esbuild, esbuild, folderOf, type ResolveArgs, SERVICES } from './services.ts';

const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

/** The one file whose Node modules are loaded when they are needed, and not before. */
const LAZY_FILE = `${ROOT}src/session/workspace.ts`;

export interface Bundle {
  readonly code: string;
  /** What the code imports when it runs, and is no part of it. */
  readonly imports: readonly BundledImport[];
  /** The files that it was made of, from the project's folder. */
  readonly files: readonly string[];
}

/** The `looprig` that a program imports, alone: one module. Throws for a Node module, but for those that a folder as workspace loads. */
export const bundleCore = (): Promise<Bundle> => bundle({ entryPoints: [`${ROOT}src/index.ts`] });

/** The script of a page that imports `looprig` from where the page says that it is. */
export function bundleScript(file: URL): Promise<Bundle> {
  return bundle({ entryPoints: [fileURLToPath(file)], external: ['looprig'] });
}

/** A page of React, from its source with JSX: everything that it imports is in the bundle. */
export function bundleReact(source: string): Promise<Bundle> {
  folderOf('react');
  return bundle({
    stdin: { contents: source, loader: 'tsx', resolveDir: SERVICES, sourcefile: 'page.tsx' },
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"development"' }, // React complains of what is wrong only then
  });
}

async function bundle(options: object): Promise<Bundle> {
  const tool: Esbuild = esbuild();
  try {
    const { outputFiles, metafile } = await tool.build({
      absWorkingDir: ROOT,
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2024',
      logLevel: 'silent',
      plugins: [noNode],
      ...options,
    });
    const imports = Object.values(metafile.outputs).flatMap(output => output.imports);
    return { code: outputFiles[0]?.text ?? '', imports, files: Object.keys(metafile.inputs) };
  } finally {
    await tool.stop();
  }
}

interface Build {
  onResolve(at: { readonly filter: RegExp }, resolve: (args: ResolveArgs) => object): void;
}

const noNode = {
  name: 'no-node',
  setup(build: Build): void {
    build.onResolve({ filter: /^node:/ }, ({ path, importer, kind }) => {
      if (kind === 'dynamic-import' && importer === LAZY_FILE) return { path, external: true };
      return { errors: [{ text: `${path} is imported by ${importer}: a page has no Node` }] };
    });
  },
};
