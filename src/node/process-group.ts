/**
 * Process groups: a child process and all that it starts, ended together, and nothing of them left when this program exits. A process
 * that has made a group of its own is out of reach.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export const IS_WINDOWS: boolean = process.platform === 'win32';

/** How often a group is asked whether it is still there. */
const POLL_MS = 10;

/** Groups of their own outlive this program unless it ends them. */
const live = new Set<number>();
let isWatchingExit = false;

/** From now on the group is killed if this program exits. */
export function trackGroup(pid: number): void {
  live.add(pid);
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.on('exit', () => {
    for (const group of live) signalGroup(group, 'SIGKILL');
  });
}

/** The group has ended: its number may soon be another's. */
export function forgetGroup(pid: number): void {
  live.delete(pid);
}

/** Sends a signal to a whole group; false if there is nobody who takes it. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    if (IS_WINDOWS && signal !== 0) {
      // Windows has no groups and no gentle signal: the tree under the process is ended at once.
      const kill = spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
      kill.on('error', () => undefined);
      return true;
    }
    return process.kill(IS_WINDOWS ? pid : -pid, signal);
  } catch {
    return false;
  }
}

/** Waits until nobody of the group is left; false if somebody still is after `ms`. */
export async function isGoneWithin(pid: number, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (signalGroup(pid, 0)) {
    if (performance.now() >= until) return false;
    await sleep(POLL_MS);
  }
  return true;
}
