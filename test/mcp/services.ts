/** Servers of other people, from the package under test/services, which the test command installs. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const SERVICES = fileURLToPath(new URL('../services/', import.meta.url));

/** The program of a package of the Model Context Protocol. Throws where it is not installed. */
export function serviceProgram(name: string): string {
  const manifest = `${SERVICES}node_modules/@modelcontextprotocol/${name}/package.json`;
  if (!existsSync(manifest)) {
    throw new Error(`@modelcontextprotocol/${name} is not installed: run "npm ci --prefix test/services" first`);
  }
  const { bin } = createRequire(import.meta.url)(manifest) as { bin: Readonly<Record<string, string>> };
  return manifest.replace('package.json', Object.values(bin)[0] ?? '');
}
