/** A process that appends to the sessions of a store without end, to be killed at any moment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** What the process does with `store`, once its own lines have made one. It prints what was acknowledged. */
const APPEND = `
  import { writeSync } from 'node:fs';
  const [place, sessions, restMs, module] = process.argv.slice(1);
  const store = await open(place, await import(module));
  const write = async id => {
    let seq = (await store.find(id))?.lastSeq ?? 0;
    for (let size = 1; ; size = (size % 4) + 1) {
      const records = Array.from({ length: size }, (_, index) => {
        return { type: 'mode.changed', mode: 'x'.repeat((seq * 37) % 3000), seq: seq + index + 1, at: Date.now() };
      });
      await store.append(id, seq, records);
      seq += size;
      writeSync(1, id + ' ' + seq + '\\n');
      if (restMs !== '0') await new Promise(next => setTimeout(next, Number(restMs)));
    }
  };
  await Promise.all(Array.from({ length: Number(sessions) }, (_, index) => write('session-' + index)));
`;

/** What to append to. */
export interface AppenderPlan {
  /** The module that has the store, as a URL. */
  readonly module: string;
  /** A function, as source text, that makes the store of a place and what the module exports. */
  readonly open: string;
  /** Where the store is: a file, or the URL of a database. */
  readonly place: string;
  /** How many sessions, `session-0` the first. */
  readonly sessions: number;
  /** How long each session rests after an append, so that somebody else has a turn, in milliseconds; 0 by default. */
  readonly restMs?: number;
}

/** Starts the process. `acknowledged` has the last number of each session that it was told to be kept. */
export function startAppender({ module, open, place, sessions, restMs = 0 }: AppenderPlan): {
  readonly child: ChildProcess;
  readonly acknowledged: Map<string, number>;
} {
  const program = `const open = ${open};${APPEND}`;
  const args = ['--input-type=module', '--eval', program, place, String(sessions), String(restMs), module];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const acknowledged = new Map<string, number>();
  if (child.stdout === null) throw new Error('the child has no output');
  createInterface(child.stdout).on('line', line => {
    const [id = '', seq = ''] = line.split(' ');
    acknowledged.set(id, Number(seq));
  });
  return { child, acknowledged };
}

/** How many records were acknowledged in all. */
export function sum(acknowledged: ReadonlyMap<string, number>): number {
  return [...acknowledged.values()].reduce((all, seq) => all + seq, 0);
}
