/** A terminal of tmux, with a server of its own: what a person would see, and keys as they type them. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';

const run = promisify(execFile);

/** Whether tmux is installed. */
export const HAS_TMUX: boolean = hasTmux();

/** What the title of tests that need it says where it is not. */
export function tmuxLeftOut(tests: number): string {
  return HAS_TMUX ? '' : ` (${tests} tests left out: tmux is not installed)`;
}

function hasTmux(): boolean {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** How a terminal is opened. */
export interface TmuxOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How long something may take to be seen, in milliseconds: the machine may be busy. */
const PATIENCE_MS = 15_000;

export class Tmux implements AsyncDisposable {
  readonly #folder: string;
  readonly #socket: string;

  readonly #env: Readonly<Record<string, string | undefined>>;

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#socket = join(folder, 'tmux');
    this.#env = { PATH: process.env.PATH, TERM: 'screen-256color', LANG: 'C.UTF-8', ...env };
  }

  /** Opens a window that runs a line of shell, and stays when that has ended. */
  static async open(line: string, options: TmuxOptions): Promise<Tmux> {
    const { columns = 80, rows = 24, cwd, env = {} } = options;
    const terminal = new Tmux(await mkdtemp(join(tmpdir(), 'looprig-tmux-')), env);
    await terminal.#tmux([
      ...['-f', '/dev/null', 'new-session', '-d', '-x', String(columns), '-y', String(rows), '-c', cwd],
      `/bin/sh -c 'trap : INT; ${line.replaceAll("'", `'\\''`)}; echo "[status $?]"; exec sleep 1000'`,
    ]);
    return terminal;
  }

  /** What is to be seen, with what has scrolled out above, without spaces and empty rows at the ends. */
  async screen(): Promise<string> {
    const { stdout } = await this.#tmux(['capture-pane', '-p', '-S', '-']);
    return stdout.trimEnd();
  }

  /** The same with the escape sequences of its colours, but without that of a background which is no colour: tmux writes it now and then. */
  async painted(): Promise<string> {
    const { stdout } = await this.#tmux(['capture-pane', '-p', '-e', '-S', '-']);
    return stdout.trimEnd().replaceAll('\u001b[49m', '');
  }

  /** Waits until `text` is to be seen, and gives the screen. */
  async sees(text: string | RegExp): Promise<string> {
    return vi.waitFor(
      async () => {
        const screen = await this.screen();
        if (typeof text === 'string' ? screen.includes(text) : text.test(screen)) return screen;
        throw new Error(`${text} is not to be seen:\n${screen}`);
      },
      { timeout: PATIENCE_MS, interval: 50 },
    );
  }

  /** The screen at the end of the program. */
  async ended(): Promise<string> {
    return this.sees(/\[status \d+\]/);
  }

  /** Types text, then keys by their names: `Enter`, `C-c`. */
  async type(text: string, ...keys: readonly string[]): Promise<void> {
    if (text !== '') await this.#tmux(['send-keys', '-l', '--', text]);
    if (keys.length > 0) await this.#tmux(['send-keys', ...keys]);
  }

  /** Pastes text, as a terminal tells a program that knows pasted from typed text. */
  async paste(text: string): Promise<void> {
    await this.#tmux(['set-buffer', '--', text]);
    await this.#tmux(['paste-buffer', '-p', '-r']);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux(['resize-window', '-x', String(columns), '-y', String(rows)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux(['kill-server']).catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #tmux(args: readonly string[]): Promise<{ readonly stdout: string }> {
    return run('tmux', ['-S', this.#socket, ...args], { env: this.#env });
  }
}
