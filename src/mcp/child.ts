/**
 * A server as a child process, in a process group of its own, of which nothing is left once it was ended: not what ignores its closed
 * input or SIGTERM, not what it started itself, not when this program exits. A process that has made a group of its own is out of reach.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgetGroup, IS_WINDOWS, isGoneWithin, signalGroup, trackGroup } from '../node/process-group.ts';
import type { ResolvedCommand } from './options.ts';

/** How a process ended: `exitCode` is `null` if a signal did it. */
export interface Exit {
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
}

/** How long output is waited for when the process has ended: something else may hold its pipes. */
const DRAIN_MS = 250;

/** How long a killed process may take to end. */
const KILL_MS = 2_000;

/** How long others of its group may show that were killed with it: they are dead, and wait for somebody to take note. */
const REAP_MS = 100;

/** Of this program's environment, what programs need to run at all. */
const INHERITED = IS_WINDOWS
  ? ['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROGRAMDATA']
      .concat(['PROGRAMFILES', 'PROGRAMFILES(X86)', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP', 'TMP'])
      .concat(['USERNAME', 'USERPROFILE', 'WINDIR'])
  : ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'];

export class ServerProcess {
  /** How it ended; what it wrote before has been read. */
  readonly ended: Promise<Exit>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #graceMs: number;
  #ending: Promise<void> | undefined;

  private constructor(child: ChildProcessWithoutNullStreams, graceMs: number) {
    this.#child = child;
    this.#graceMs = graceMs;
    const closed = new Promise<void>(resolve => child.once('close', () => resolve()));
    this.ended = new Promise<Exit>(resolve => {
      child.once('exit', (exitCode, exitSignal) => {
        void Promise.race([closed, sleep(DRAIN_MS)]).then(() => resolve({ exitCode, exitSignal }));
      });
    });
    // A server that does not read, or has ended, is noticed by its end; a failed write says nothing more.
    child.stdin.on('error', () => undefined);
  }

  /** Starts it. Rejects with the system's error if it cannot be started. */
  static start({ command, args, env, cwd, graceMs }: ResolvedCommand): Promise<ServerProcess> {
    const child = spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...inherited(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: !IS_WINDOWS,
      windowsHide: true,
    });
    return new Promise((resolve, reject) => {
      child.on('error', reject); // once it runs, an error says nothing that its end does not
      child.once('spawn', () => {
        if (child.pid !== undefined) trackGroup(child.pid);
        resolve(new ServerProcess(child, graceMs));
      });
    });
  }

  onOutput(stdout: (chunk: Uint8Array) => void, stderr: (text: string) => unknown): void {
    this.#child.stdout.on('data', stdout);
    this.#child.stderr.setEncoding('utf8').on('data', stderr);
  }

  /** Reads no more of what it writes to standard output. */
  stopReading(): void {
    this.#child.stdout.destroy();
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Ends the whole group: input closed, then SIGTERM, then SIGKILL. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const { pid } = this.#child;
    this.#child.stdin.end();
    if (pid !== undefined && !(await isGoneWithin(pid, this.#graceMs))) {
      signalGroup(pid, 'SIGTERM');
      if (!(await isGoneWithin(pid, this.#graceMs))) {
        signalGroup(pid, 'SIGKILL');
        await Promise.race([this.ended, sleep(KILL_MS, undefined, { ref: false })]);
        await isGoneWithin(pid, REAP_MS);
      }
    }
    if (pid !== undefined) forgetGroup(pid);
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap(name => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
