/** `looprig/restate`: turns on Restate, which starts them, runs them again where a worker is lost, and keeps those that wait. */
import type { Ingress, Send } from '@restatedev/restate-sdk-clients';
import type { ClosableEngine, RunTurn, Serving, TurnRef } from '../engine.ts';
import { EngineError } from '../engine-error.ts';
import { type ResolvedRestate, type RestateOptions, resolveRestate } from './options.ts';
import { loadClientSdk } from './packages.ts';
import { sessionService } from './services.ts';
import { RestateWorker, requestFailure } from './worker.ts';

export type { RestateOptions, RestateWorkerOptions } from './options.ts';

/**
 * An engine on a Restate server. Needs the packages `@restatedev/restate-sdk-clients` and, to run turns, `@restatedev/restate-sdk`. Throws
 * `DefinitionError` for options that it cannot take.
 */
export function restate(options: RestateOptions): ClosableEngine {
  return new RestateEngine(resolveRestate(options));
}

/** The longest that the server may take to answer, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

class RestateEngine implements ClosableEngine {
  readonly isDurable = true;
  readonly #options: ResolvedRestate;
  #client: Promise<Ingress> | undefined;

  constructor(options: ResolvedRestate) {
    this.#options = options;
  }

  async start(ref: TurnRef): Promise<void> {
    await this.#send('turn', ref, ref.turnId);
  }

  async wake(ref: TurnRef): Promise<void> {
    await this.#send('wake', ref);
  }

  async cancel(ref: TurnRef): Promise<void> {
    await this.#send('cancel', ref);
  }

  serve(run: RunTurn): Promise<Serving> {
    return RestateWorker.start(this.#options, run);
  }

  /** Does nothing: every request is one of its own, and what serves closes its port. */
  async close(): Promise<void> {}

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #send(handler: string, { sessionId, turnId }: TurnRef, idempotencyKey?: string): Promise<Send> {
    const { namespace, ingressUrl } = this.#options;
    const client = await this.#connect();
    const call = { service: sessionService(namespace), handler, key: sessionId, parameter: { sessionId, turnId } };
    const { SendOpts } = await loadClientSdk();
    const opts = SendOpts.from<TurnRef>({ timeout: REQUEST_TIMEOUT_MS, ...(idempotencyKey && { idempotencyKey }) });
    try {
      return await client.send({ ...call, opts });
    } catch (cause) {
      const message = `Restate at ${ingressUrl} did not take a ${handler} of session ${sessionId}: ${requestFailure(cause)}`;
      throw new EngineError('unavailable', message, { cause });
    }
  }

  async #connect(): Promise<Ingress> {
    const { ingressUrl: url, headers } = this.#options;
    this.#client ??= loadClientSdk().then(({ connect }) => connect({ url, headers, retry: true }));
    return this.#client;
  }
}
