/** Starts the processes of a session one after another, and kills them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { type FSWatcher, statSync, watch } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { countLedger, writeLedger } from '../support/ledger.ts';
import { type KillPlan, type LifePlan, LOST, ledgerFile, storeFile } from './plan.ts';

const PROGRAM = fileURLToPath(new URL('./life.ts', import.meta.url));

/** A process that does nothing for so long hangs. It is ended, and that is a finding. */
const HANGS_AFTER_MS = 30_000;

/** How a process ended. */
export type LifeEnd =
  | { readonly kind: 'killed' }
  /** It had nothing left to do, or only answered gates. */
  | { readonly kind: 'finished' | 'answered' }
  /** A rival took its session. */
  | { readonly kind: 'lost' }
  /** It found something wrong, or hung. */
  | { readonly kind: 'broken'; readonly problem: string };

/** The processes of all sessions; whatever happens, none outlives the tests. */
export class Lives {
  readonly #running = new Set<ChildProcess>();
  readonly #compileCache: string;

  /** `compileCache` is a folder for what the engine makes of the sources: processes start several times faster with it. */
  constructor(compileCache: string) {
    this.#compileCache = compileCache;
  }

  /** Kills what still runs. */
  end(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  /** Runs one process to its end, by the kill that is planned for it or by itself. */
  async run(folder: string, plan: LifePlan, kill: KillPlan | undefined): Promise<LifeEnd> {
    const child = spawn(process.execPath, [PROGRAM, folder, JSON.stringify(plan)], {
      env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: this.#compileCache },
      stdio: ['pipe', 'pipe', 'pipe'], // the first tells the process that its parent lives
    });
    this.#running.add(child);
    const killer = new Killer(child, folder, kill);
    const said: string[] = [];
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const words = text.split('\n').filter(word => word !== '');
      said.push(...words);
      for (const word of words) killer.heard(word);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    try {
      const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (...end) => resolve(end));
      });
      if (killer.hasHung) return { kind: 'broken', problem: `it hung, having said ${said.join(', ')}` };
      if (signal === 'SIGKILL') {
        writeLedger(ledgerFile(folder), { type: 'death', life: plan.life });
        return { kind: 'killed' };
      }
      if (status === LOST) return { kind: 'lost' };
      if (status !== 0) return { kind: 'broken', problem: `it ended with ${status ?? signal}: ${stderr}` };
      return { kind: said.includes('finished') ? 'finished' : 'answered' };
    } finally {
      killer.stop();
      this.#running.delete(child);
    }
  }
}

/** Kills one process when its time has come. */
class Killer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #plan: KillPlan | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #watcher: FSWatcher | undefined;
  #changes = 0;
  hasHung = false;

  constructor(child: ChildProcess, folder: string, plan: KillPlan | undefined) {
    this.#child = child;
    this.#folder = folder;
    this.#plan = plan;
    this.#after(HANGS_AFTER_MS, () => {
      this.hasHung = true;
    });
    if (plan?.by === 'time') {
      if (plan.from === 'start') this.#after(plan.ms);
      return;
    }
    if (plan === undefined) return;
    const most = this.#measure() + amountOf(plan);
    this.#watcher = watch(folder, () => {
      this.#changes += 1;
      if (this.#measure() >= most) child.kill('SIGKILL');
    });
  }

  /** The process has said something. One that waits for a person who never comes is killed soon. */
  heard(word: string): void {
    const plan = this.#plan;
    if (plan?.by === 'time' && plan.from === word) this.#after(plan.ms);
    else if (word === 'waiting') this.#after(10);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#watcher?.close();
  }

  #after(ms: number, first?: () => void): void {
    const kill = (): void => {
      first?.();
      this.#child.kill('SIGKILL');
    };
    this.#timers.push(setTimeout(kill, ms));
  }

  /** How far the process is, in what its plan counts. */
  #measure(): number {
    if (this.#plan?.by === 'changes') return this.#changes;
    if (this.#plan?.by === 'ledger') return countLedger(ledgerFile(this.#folder));
    return sizeOf(storeFile(this.#folder)) + sizeOf(`${storeFile(this.#folder)}-wal`);
  }
}

function amountOf(plan: Exclude<KillPlan, { readonly by: 'time' }>): number {
  switch (plan.by) {
    case 'changes':
      return plan.count;
    case 'ledger':
      return plan.lines;
    case 'store':
      return plan.bytes;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
