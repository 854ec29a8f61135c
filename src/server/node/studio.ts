/** The files of the studio, as they were built into the package. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { StaticFiles } from '../static-files.ts';

/** Found from the sources as from what is built of them. */
const STUDIO = new URL('../../../dist/studio/', import.meta.url);

/** All of them, read once; none where they are not built. */
export async function studioFiles(folder: URL = STUDIO): Promise<StaticFiles> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  try {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.map')) continue;
      const file = `${entry.parentPath}/${entry.name}`;
      const path = file.slice(fileURLToPath(folder).length).replaceAll('\\', '/').replace(/^\//, '');
      files.set(path, new Uint8Array(await readFile(file)));
    }
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'ENOENT') throw error;
  }
  return files;
}
