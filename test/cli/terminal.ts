/** The program run in this process: in a terminal that can be read while it works, or with its streams led elsewhere. */

import { PassThrough } from 'node:stream';
import type { CommandEnd } from '../../src/cli/command.ts';
import type { StopReason } from '../../src/cli/host.ts';
import { runProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/index.ts';
import { OWN_STORE } from './own-store.ts';
import { Screen } from './screen.ts';

/** What the program is started with. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** A program under way. */
interface Running {
  readonly ended: Promise<CommandEnd>;
  stop(reason: StopReason): void;
  /** Resolves when `text` was written, or is to be seen. Rejects if the program ends before. */
  sees(text: string): Promise<void>;
}

/** A program that runs in a terminal. */
export interface InTerminal extends Running {
  readonly screen: Screen;
  /** What went to standard output. */
  answer(): string;
  /** Types a line, and shows it as terminals do. */
  type(line: string): void;
  /** The end of what is typed. */
  endInput(): void;
}

/** A program whose output goes elsewhere. */
export interface InPipe extends Running {
  stdout(): string;
  stderr(): string;
}

/** Starts the program in a terminal of its own. */
export function startInTerminal(
  args: readonly string[],
  options: StartOptions & { readonly columns?: number } = {},
): InTerminal {
  const { env = {}, columns = 80 } = options;
  const screen = new Screen(columns);
  let answer = '';
  const watch = new Watch(() => screen.text);
  const terminal = { isTTY: true, columns, rows: 24 };
  const stdout = (text: string): void => {
    answer += text;
    screen.write(text);
    watch.look();
  };
  const stderr = (text: string): void => {
    screen.write(text);
    watch.look();
  };
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const streams = { stdin, stdout: { ...terminal, write: stdout }, stderr: { ...terminal, write: stderr } };
  const running = start(args, env, streams, watch);
  const type = (line: string): void => {
    screen.write(`${line}\r\n`);
    stdin.write(`${line}\n`);
  };
  return { ...running, screen, answer: () => answer, type, endInput: () => void stdin.end() };
}

/** Starts the program with both streams led elsewhere. */
export function startInPipe(args: readonly string[], { env = {} }: StartOptions = {}): InPipe {
  const output = { stdout: '', stderr: '' };
  const watch = new Watch(() => output.stdout + output.stderr);
  const into = (name: 'stdout' | 'stderr') => ({
    write: (text: string): void => {
      output[name] += text;
      watch.look();
    },
  });
  const streams = { stdin: new PassThrough(), stdout: into('stdout'), stderr: into('stderr') };
  const running = start(args, env, streams, watch);
  return { ...running, stdout: () => output.stdout, stderr: () => output.stderr };
}

type Streams = Pick<Parameters<typeof runProgram>[1], 'stdin' | 'stdout' | 'stderr'>;

function start(args: readonly string[], env: StartOptions['env'] & object, streams: Streams, watch: Watch): Running {
  const stopping = new AbortController();
  const quit = new AbortController().signal;
  const host = { ...streams, env: { ...OWN_STORE, ...env }, clock: systemClock, stop: stopping.signal, quit };
  const ended = runProgram(args, host);
  return {
    ended,
    stop: reason => stopping.abort(reason),
    sees: text => watch.sees(text, ended),
  };
}

/** Waits for words in what a program shows. */
class Watch {
  readonly #shown: () => string;
  readonly #waiting = new Set<() => void>();

  constructor(shown: () => string) {
    this.#shown = shown;
  }

  /** Something was written. */
  look(): void {
    for (const look of this.#waiting) look();
  }

  sees(text: string, ended: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.#shown().includes(text)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`${JSON.stringify(text)} was not seen:\n${this.#shown()}`)));
    });
  }
}
