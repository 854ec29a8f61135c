/** The program as a child process, run from its source. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { OWN_STORE } from './own-store.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** How a program is started. */
export interface StartOptions {
  /** Variables beside the few that a program needs; no key of whoever runs the tests is among them. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The source file to run. Default: the program of this checkout. */
  readonly main?: string;
  readonly uid?: number;
}

/** How a program ended. */
export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program under way. */
export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** Resolves when standard output or standard error has said `text`. */
  said(text: string): Promise<void>;
}

/** Starts the program. */
export function startProgram(args: readonly string[], options: StartOptions = {}): Started {
  const { env = {}, cwd, main = MAIN, uid } = options;
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...OWN_STORE, ...env },
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid }),
  });
  const output = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const look of waiting) look();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, ...output }));
  });
  const said = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!output.stdout.includes(text) && !output.stderr.includes(text)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
      void ended.then(
        end => reject(new Error(`the program ended without saying ${JSON.stringify(text)}: ${JSON.stringify(end)}`)),
        reject,
      );
    });
  return { child, ended, said };
}

/** Runs the program to its end. */
export function runProgram(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  const { child, ended } = startProgram(args, options);
  child.stdin.end();
  return ended;
}
