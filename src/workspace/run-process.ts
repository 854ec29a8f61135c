/**
 * Runs a program in a process group of its own, and leaves nothing of the group behind: not after it ends, not after its time is
 * over or it is aborted, not when this program exits. A process that has made a group of its own is out of reach.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgetGroup, IS_WINDOWS, isGoneWithin, signalGroup, trackGroup } from '../node/process-group.ts';
import { HeadAndTail } from './head-and-tail.ts';

/** What to run, and its bounds. */
export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How long after SIGTERM comes SIGKILL. */
  readonly graceMs: number;
  /** Bytes kept of each of the two streams. */
  readonly outputBytes: number;
  readonly signal: AbortSignal;
}

/** How a program ended, and what it wrote. */
export interface ProcessOutcome {
  readonly endedBy: 'itself' | 'timeout' | 'abort';
  /** `null` if a signal ended it. */
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  /** It had ended, and others of its group had not: they were ended. */
  readonly leftOthers: boolean;
  readonly stdout: HeadAndTail;
  readonly stderr: HeadAndTail;
}

/** How long the others of a group may take to end by themselves after the program has. */
const LINGER_MS = 100;

/** How long output is waited for when nobody of the group is left to write any: what holds the pipe is out of reach. */
const DRAIN_MS = 500;

/** Runs the program to its end. Rejects if it cannot be started, or if `signal` is aborted already. */
export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  const { file, args, cwd, env, signal, outputBytes } = request;
  signal.throwIfAborted();
  const child = spawn(file, args, {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !IS_WINDOWS,
    windowsHide: true,
  });
  const stdout = new HeadAndTail(outputBytes);
  const stderr = new HeadAndTail(outputBytes);
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  const exited = exitOf(child);
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()));
  const { pid } = child;
  if (pid === undefined) {
    await exited; // rejects with the reason
    throw new Error('the program was not started');
  }
  trackGroup(pid);
  try {
    const endedBy = await firstEnd(exited, request);
    if (endedBy === 'itself') await isGoneWithin(pid, LINGER_MS);
    const isWholeGroupGone = await endGroup(pid, request.graceMs);
    const { exitCode, exitSignal } = await exited;
    await Promise.race([closed, sleep(DRAIN_MS)]);
    return { endedBy, exitCode, exitSignal, leftOthers: endedBy === 'itself' && !isWholeGroupGone, stdout, stderr };
  } finally {
    forgetGroup(pid);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

interface Exit {
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
}

function exitOf(child: ChildProcess): Promise<Exit> {
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('exit', (exitCode, exitSignal) => resolve({ exitCode, exitSignal }));
    child.once('error', reject);
  });
  exited.catch(() => undefined); // whoever waits for it gets the error; nobody may be waiting yet
  return exited;
}

async function firstEnd(
  exited: Promise<Exit>,
  { timeoutMs, signal }: ProcessRequest,
): Promise<ProcessOutcome['endedBy']> {
  const { promise, resolve } = Promise.withResolvers<'timeout' | 'abort'>();
  const onAbort = (): void => resolve('abort');
  const timer = setTimeout(() => resolve('timeout'), timeoutMs);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([exited.then(() => 'itself' as const), promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Ends what is left of a group, gently first. Gives whether there was nothing left. */
async function endGroup(pid: number, graceMs: number): Promise<boolean> {
  if (!signalGroup(pid, 0)) return true;
  signalGroup(pid, 'SIGTERM');
  if (await isGoneWithin(pid, graceMs)) return false;
  signalGroup(pid, 'SIGKILL');
  // Nothing outlives this signal; what still shows then is dead and waits for its parent to take note.
  await isGoneWithin(pid, DRAIN_MS);
  return false;
}
