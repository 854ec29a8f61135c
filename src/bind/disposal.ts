/** What one binding built and has to dispose of, once, in reverse order. */
import { copyList } from '../define/options.ts';

export class Disposal {
  readonly #built = new Set<object>();
  #running: Promise<readonly unknown[]> | undefined;

  /** Takes over what a factory returned: one live tool, or a list of them, fit for use or not. */
  own(returned: unknown): void {
    for (const live of copyList(returned) ?? [returned]) {
      if ((typeof live === 'object' || typeof live === 'function') && live !== null) this.#built.add(live);
    }
  }

  /** Disposes all of it, the last built first, and gives what disposers threw. The first call does it; later ones wait for that and give nothing. */
  async run(): Promise<readonly unknown[]> {
    if (this.#running === undefined) {
      this.#running = disposeAll([...this.#built].reverse());
      return this.#running;
    }
    await this.#running;
    return [];
  }
}

async function disposeAll(built: readonly object[]): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  for (const live of built) {
    try {
      await dispose(live);
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

function dispose(live: object): unknown {
  const disposer: unknown = Reflect.get(live, Symbol.asyncDispose) ?? Reflect.get(live, Symbol.dispose);
  return typeof disposer === 'function' ? disposer.call(live) : undefined;
}
