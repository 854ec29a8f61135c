/** What was measured, by library and workload, and in which circumstances. */
import { cpus, loadavg } from 'node:os';
import { type Spread, spreadOf } from '../statistics.ts';
import type { Answer } from './process.ts';
import type { Workload } from './workloads.ts';

/** What is no library beside looprig. */
const NO_PEERS = ['looprig', 'bare', 'empty'];

export class Results {
  readonly libraries: readonly string[];
  /** How many were measured whole. */
  rounds = 0;
  readonly workloads: Workload[] = [];
  readonly #values = new Map<string, number[]>();
  readonly #reasons = new Map<string, string>();
  readonly #seen = new Map<string, string>();
  readonly #begun = loadavg()[0] ?? 0;
  #ended = 0;

  constructor(libraries: readonly string[]) {
    this.libraries = libraries;
  }

  add(library: string, workload: Workload, { figure, cannot, wallMs }: Answer): void {
    if (!this.workloads.some(known => known.name === workload.name)) this.workloads.push(workload);
    if (figure === undefined) {
      this.#reasons.set(`${library}|${workload.name}`, cannot ?? 'no answer');
      return;
    }
    this.#push(`${library}|${workload.name}`, workload.kind === 'start' ? wallMs : figure.value);
    if (figure.second !== undefined) this.#push(`${library}|${workload.name}|second`, figure.second);
  }

  #push(key: string, value: number): void {
    this.#values.set(key, [...(this.#values.get(key) ?? []), value]);
  }

  see(library: string, behaviour: string, sentence: string): void {
    this.#seen.set(`${library}|${behaviour}`, sentence);
  }

  seenOf(library: string, behaviour: string): string | undefined {
    return this.#seen.get(`${library}|${behaviour}`);
  }

  reasonOf(library: string, workload: string): string | undefined {
    return this.#reasons.get(`${library}|${workload}`);
  }

  /** The figures of a library, those of W6 above Node's own. */
  spreadOf(library: string, { name, kind }: Workload, which: 'first' | 'second' = 'first'): Spread | undefined {
    const values = this.#values.get(`${library}|${name}${which === 'second' ? '|second' : ''}`) ?? [];
    const base = kind === 'start' ? (spreadOf(this.#values.get(`empty|${name}`) ?? [])?.median ?? 0) : 0;
    return spreadOf(values.map(value => value - base));
  }

  /** The best median that another library has. */
  bestPeer(workload: Workload, which: 'first' | 'second' = 'first'): { name: string; median: number } | undefined {
    const isBetter = (a: number, b: number): boolean => (workload.kind === 'rate' && which === 'first' ? a > b : a < b);
    let best: { name: string; median: number } | undefined;
    for (const name of this.libraries.filter(library => !NO_PEERS.includes(library))) {
      const median = this.spreadOf(name, workload, which)?.median;
      if (median !== undefined && (best === undefined || isBetter(median, best.median))) best = { name, median };
    }
    return best;
  }

  end(): void {
    this.#ended = loadavg()[0] ?? 0;
  }

  /** Where and when, in one sentence. */
  get circumstances(): string {
    const load = `load ${this.#begun.toFixed(1)} at the beginning and ${this.#ended.toFixed(1)} at the end`;
    const count = cpus().length;
    return `Measured on ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node}, ${count} cores, ${load}; ${this.rounds} ${this.rounds === 1 ? 'round' : 'rounds'}`;
  }
}
