/** `looprig init`: the beginning of a loop of one's own, which runs and is tested as it stands. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type CommandEnd, DONE } from './command.ts';
import { codeOf } from './error-code.ts';
import type { Host } from './host.ts';
import { configText, type NewLoop, packageText, testText } from './init-files.ts';
import type { InitOptions } from './options.ts';
import { readVersion } from './own-package.ts';
import { UsageError } from './usage-error.ts';

/** Runs the command. Throws `UsageError` where there is a configuration already: nothing is ever written over. */
export async function initCommand({ folder = '.' }: InitOptions, { stdout }: Host): Promise<CommandEnd> {
  const root = resolve(folder);
  await makeFolder(root, folder);
  const there = await readdir(root);
  const old = there.find(name => /^looprig\.config\.[cm]?[jt]s$/.test(name));
  if (old !== undefined) {
    throw new UsageError(`${join(folder, old)} is there already: "looprig check ${folder}" tells what is in it`);
  }
  const files = namesFor(await isModule(root));
  const texts: (readonly [name: string, text: string])[] = [
    [files.config, configText()],
    [files.test, testText(files)],
  ];
  if (!there.includes('package.json')) {
    texts.push(['package.json', packageText(packageName(root), await readVersion())]);
  }
  for (const [name, text] of texts) {
    if (there.includes(name)) stdout.write(`left as it is: ${join(folder, name)}\n`);
    else await writeNew(join(root, name), text, () => stdout.write(`written: ${join(folder, name)}\n`));
  }
  stdout.write(`\nNext:\n${(await nextCommands(root)).map(line => `  ${line}\n`).join('')}`);
  return DONE;
}

async function makeFolder(root: string, folder: string): Promise<void> {
  try {
    await mkdir(root, { recursive: true });
    if ((await stat(root)).isDirectory()) return;
  } catch (cause) {
    throw new UsageError(`the folder ${folder} cannot be made (${codeOf(cause)}): name another`, { cause });
  }
}

/** A package that is no module needs files that say so themselves; a Node that runs no TypeScript needs JavaScript. */
function namesFor(isModule: boolean): NewLoop {
  const runsTypeScript = process.features.typescript !== false;
  const ending = runsTypeScript ? (isModule ? 'ts' : 'mts') : 'mjs';
  return { config: `looprig.config.${ending}`, test: `looprig.config.test.${ending}` };
}

/** Whether plain `.ts` and `.js` files in a folder are modules; a folder without a package becomes one. */
async function isModule(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return true;
  try {
    const { type } = JSON.parse(text) as { readonly type?: unknown };
    return type === 'module';
  } catch {
    return false;
  }
}

/** What packages may be called is less than what folders may. */
function packageName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' || name === 'looprig' ? 'my-loop' : name;
}

async function writeNew(path: string, text: string, written: () => void): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (cause) {
    throw new UsageError(`${path} cannot be written (${codeOf(cause)}): look at the folder`, { cause });
  }
  written();
}

async function nextCommands(root: string): Promise<readonly string[]> {
  const path = relative(process.cwd(), root);
  return [
    ...(path === '' ? [] : [`cd ${/^[\w./@+-]+$/.test(path) ? path : JSON.stringify(path)}`]),
    ...((await hasLooprig(root)) ? [] : ['npm install looprig']),
    'npx looprig check',
    'npx looprig run "How many words?" --loop .',
    'node --test',
    'npm install hono @hono/node-server && npx looprig serve',
  ];
}

/** Whether a module in this folder would find looprig. */
async function hasLooprig(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if ((await stat(join(at, 'node_modules', 'looprig')).catch(() => undefined)) !== undefined) return true;
    if (dirname(at) === at) return false;
  }
}
