/** What one binding built and has to dispose of, once, in reverse order. */
import type { Clock } from '../clock.ts';
import { copyList } from '../define/options.ts';
import { BindError } from '../errors.ts';

/** The longest that one disposer is waited for, in milliseconds: enough to end a child process that will not go. */
const DISPOSER_TIMEOUT_MS = 10_000;

export class Disposal {
  readonly #clock: Clock;
  readonly #built = new Set<object>();
  #running: Promise<readonly unknown[]> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An empty one, for what comes when this one has run. */
  another(): Disposal {
    return new Disposal(this.#clock);
  }

  /** Takes over what a factory returned: one live tool, or a list of them, fit for use or not. */
  own(returned: unknown): void {
    for (const live of copyList(returned) ?? [returned]) {
      if ((typeof live === 'object' || typeof live === 'function') && live !== null) this.#built.add(live);
    }
  }

  /**
   * Disposes all of it, the last built first, and gives what disposers threw, and an error for each that took too long and was left behind. The first call does
   * it; later ones wait for that and give nothing.
   */
  async run(): Promise<readonly unknown[]> {
    if (this.#running === undefined) {
      this.#running = this.#disposeAll([...this.#built].reverse());
      return this.#running;
    }
    await this.#running;
    return [];
  }

  async #disposeAll(built: readonly object[]): Promise<readonly unknown[]> {
    const errors: unknown[] = [];
    for (const live of built) {
      try {
        await this.#inTime(dispose(live));
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }

  /** Settles as what a disposer gave does, or rejects when its time is over; what it does after that is nobody's concern. */
  async #inTime(disposing: unknown): Promise<void> {
    if (disposing === undefined) return;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.setTimer(() => reject(leftBehind()), DISPOSER_TIMEOUT_MS);
    try {
      await Promise.race([disposing, late]);
    } finally {
      this.#clock.clearTimer(timer);
    }
  }
}

function dispose(live: object): unknown {
  const disposer: unknown = Reflect.get(live, Symbol.asyncDispose) ?? Reflect.get(live, Symbol.dispose);
  return typeof disposer === 'function' ? disposer.call(live) : undefined;
}

function leftBehind(): BindError {
  const message = `a tool's disposer did not end within ${DISPOSER_TIMEOUT_MS} ms and was left behind: let it end by itself`;
  return new BindError('left_behind', message);
}
