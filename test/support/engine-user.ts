import type { Engine, RunTurn, Serving, TurnRef } from '../../src/engines/engine.ts';

/** One that uses an engine in a test, and lets go of all at its end. */
export class EngineUser implements AsyncDisposable {
  readonly engine: Engine;
  readonly #servings: Serving[] = [];

  constructor(engine: Engine) {
    this.engine = engine;
  }

  start(ref: TurnRef): Promise<void> {
    return this.engine.start(ref);
  }

  async serve(run: RunTurn): Promise<Serving> {
    const serving = await this.engine.serve(run);
    this.#servings.push(serving);
    return serving;
  }

  async close(): Promise<void> {
    for (const serving of this.#servings.splice(0)) await serving.close();
    await this.engine.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
