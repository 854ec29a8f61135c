/** Looking at processes that a test started, by their numbers. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a file that a child writes (numbers, then a full stop), and gives the numbers in it. */
export async function pidsIn(file: string): Promise<number[]> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.endsWith('.')) return text.slice(0, -1).split(' ').map(Number);
    await sleep(10);
  }
}

/** Whether a process still runs. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // Dead, and not yet taken note of by its parent.
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/\) Z /.test(state);
}

/** The processes that a process has started itself, and that still run. Linux only. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}
