/** What this program is a part of. */
import { readFile } from 'node:fs/promises';

/** The version of the package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}
