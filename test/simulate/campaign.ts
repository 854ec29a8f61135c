/** Many seeds in several child processes at a time: the first that breaks something is found, whoever ran it. */
import { type ChildProcess, fork } from 'node:child_process';
import type { SeedRange, SeedReport } from './serve.ts';

export interface CampaignOptions {
  /** The module of a child process, which calls `serveSeeds`. */
  readonly worker: string | URL;
  readonly from: number;
  readonly seeds: number;
  readonly workers: number;
  /** A seed that takes longer, by the real clock, counts as one that hangs. Default 120,000. */
  readonly hangMs?: number;
  /** Told of each seed that begins. */
  onSeed?(begun: number): void;
}

interface BrokenSeed {
  readonly seed: number;
  readonly message: string;
}

/** What came of a campaign. */
export interface Campaign {
  /** Seeds that were begun. */
  readonly begun: number;
  /** The lowest seed that broke something; `undefined` where all held. */
  readonly broken: BrokenSeed | undefined;
}

/** Seeds that a child takes at a time. */
const RANGE = 50;

/** Simulates all seeds, or those up to the first that breaks something. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const campaign = new SeedCampaign(options);
  await Promise.all(Array.from({ length: options.workers }, () => campaign.work()));
  return { begun: campaign.begun, broken: campaign.broken };
}

class SeedCampaign {
  readonly #options: CampaignOptions;
  #next: number;
  begun = 0;
  broken: BrokenSeed | undefined;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#next = options.from;
  }

  /** One child process after another, until there is nothing left to do: a seed may end its process. */
  async work(): Promise<void> {
    for (let range = this.#take(); range !== undefined; ) {
      const child = fork(this.#options.worker, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
      while (range !== undefined && child.connected) {
        const broken = await this.#run(child, range);
        if (broken !== undefined && !(broken.seed >= (this.broken?.seed ?? Number.POSITIVE_INFINITY)))
          this.broken = broken;
        range = this.#take();
      }
      child.kill('SIGKILL');
    }
  }

  /** Ranges are handed out in order, so that what is below a broken seed is done or under way. */
  #take(): SeedRange | undefined {
    const end = this.#options.from + this.#options.seeds;
    if (this.#next >= end || this.broken !== undefined) return undefined;
    const from = this.#next;
    this.#next = Math.min(end, from + RANGE);
    return { from, to: this.#next };
  }

  #run(child: ChildProcess, range: SeedRange): Promise<BrokenSeed | undefined> {
    const { hangMs = 120_000, onSeed } = this.#options;
    return new Promise(resolve => {
      let seed = range.from;
      let errors = '';
      let timer: NodeJS.Timeout | undefined;
      const settle = (broken: BrokenSeed | undefined): void => {
        clearTimeout(timer);
        child.off('message', hear).off('exit', ended);
        child.stderr?.off('data', keep);
        resolve(broken);
      };
      const watch = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          child.kill('SIGKILL');
          settle({ seed, message: `it did not end within ${hangMs} ms` });
        }, hangMs);
      };
      const keep = (text: Buffer): void => {
        errors += text;
      };
      const ended = (code: number | null, signal: string | null): void => {
        settle({ seed, message: `the process ended with ${code ?? signal}: ${errors.trim()}` });
      };
      const hear = (message: unknown): void => {
        const report = message as SeedReport;
        if (report.kind === 'held') settle(undefined);
        else if (report.kind === 'broken') settle(report);
        else {
          seed = report.seed;
          this.begun += 1;
          onSeed?.(this.begun);
          watch();
        }
      };
      child.on('message', hear).on('exit', ended);
      child.stderr?.on('data', keep);
      watch();
      child.send(range, error => {
        if (error !== null) settle({ seed, message: `the process was gone: ${errors.trim()}` });
      });
    });
  }
}
