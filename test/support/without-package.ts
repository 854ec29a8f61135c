/** Programs that run where an optional package is not installed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The source of an entry or another file under `src`, as a program can name it in `import()`. */
export function sourceFile(file: string): string {
  return JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href);
}

/**
 * Runs a program in a process where packages whose names begin with `missing` are not installed, and gives what it prints. What was asked for
 * stands in `globalThis.asked`.
 */
export async function runWithout(missing: string, program: string): Promise<string> {
  const hooks = `
    import { registerHooks } from 'node:module';
    globalThis.asked = [];
    registerHooks({ resolve(specifier, context, next) {
      globalThis.asked.push(specifier);
      return next(specifier.startsWith(${JSON.stringify(missing)}) ? specifier + '-not-installed' : specifier, context);
    } });
  `;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, '--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
  });
  return stdout.trim();
}
