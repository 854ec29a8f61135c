/**
 * A process that runs the code blocks of one document, one after the other, in a folder of their own, and then ends by itself: a block
 * that leaves something behind keeps it alive, and is found out by that. Its argument is a file with what is to be run.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { PREPARATIONS } from './preparations.ts';
import { surroundings } from './surroundings.ts';

export interface BlockToRun {
  readonly place: string;
  /** The module. What it declares and can be closed it hands to `opened`. */
  readonly file: string;
}

/** After the last block nothing should be left that keeps a process alive; after so long it is told what is. */
const LEFT_BEHIND_MS = 10_000;

/** Ends what a block opened: a session, a server, a store. What the block ended itself bears it. */
async function end(opened: unknown): Promise<void> {
  if (opened === null || typeof opened !== 'object') return;
  for (const name of [Symbol.asyncDispose, Symbol.dispose, 'close']) {
    const close: unknown = Reflect.get(opened, name);
    if (typeof close !== 'function') continue;
    await close.call(opened);
    return;
  }
}

async function run({ place, file }: BlockToRun): Promise<void> {
  console.log(`\n--- ${place}`);
  await using around = await surroundings();
  const opened: unknown[] = [];
  Object.assign(globalThis, around.globals, { opened });
  await using prepared = await PREPARATIONS[place]?.();
  Object.assign(globalThis, prepared?.globals);
  await import(pathToFileURL(file).href);
  for (const one of opened.reverse()) await end(one);
}

const blocks: readonly BlockToRun[] = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
for (const block of blocks) {
  try {
    await run(block);
  } catch (error) {
    console.error(`${block.place}:`, error);
    process.exit(1);
  }
}
setTimeout(() => {
  console.error(`something is left that keeps the process alive: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}, LEFT_BEHIND_MS).unref();
