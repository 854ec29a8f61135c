import type { Clock } from '../../clock.ts';
import type { ToolResult } from '../../define/tool.ts';

interface Kept {
  readonly result: ToolResult;
  readonly since: number;
}

/** At most `max` results, each for `ttlMs`. The map's own order is that of last use: the first is the one unused for longest. */
export class KeptResults {
  readonly #kept = new Map<string, Kept>();
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #clock: Clock;

  constructor(max: number, ttlMs: number, clock: Clock) {
    this.#max = max;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get(key: string): ToolResult | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    const age = this.#clock.now() - kept.since;
    if (age < 0 || age >= this.#ttlMs) return undefined; // an age below zero: the clock was set back, and says nothing
    this.#kept.set(key, kept);
    return kept.result;
  }

  put(key: string, result: ToolResult): void {
    this.#kept.delete(key);
    this.#kept.set(key, { result, since: this.#clock.now() });
    if (this.#kept.size <= this.#max) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }
}
