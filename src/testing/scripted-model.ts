/** A model that says what a test tells it to, in the shape of any specification. */
import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
} from '@ai-sdk/provider';
import { type Clock, systemClock } from '../clock.ts';
import type { ModelStreamPart } from '../model/model.ts';
import { frozenCopy } from './frozen-copy.ts';
import { asV2, asV3, partAsV2, partAsV3 } from './older-specification.ts';
import { pause } from './pause.ts';
import { requireReply, responseOf, type ScriptedReply, splitOf } from './scripted-reply.ts';
import { type GenerateResult, partsOf } from './stream-content.ts';

/** The specifications that a scripted model can speak: model and request of each. */
interface Specifications {
  v4: { readonly model: LanguageModelV4; readonly request: LanguageModelV4CallOptions };
  v3: { readonly model: LanguageModelV3; readonly request: LanguageModelV3CallOptions };
  v2: { readonly model: LanguageModelV2; readonly request: LanguageModelV2CallOptions };
}

/** The version of the AI SDK provider specification that a scripted model speaks. */
export type ModelSpecification = keyof Specifications;

type RequestOf<Specification extends ModelSpecification> = Specifications[Specification]['request'];

/** One step of a script: a reply, or a function of the request (and its place, from 0) that gives one. */
export type ScriptedStep<Request = LanguageModelV4CallOptions> =
  | ScriptedReply
  | ((request: Request, index: number) => ScriptedReply | Promise<ScriptedReply>);

/** The last step of a script, which answers every request from then on. Made by `forever`. */
export interface ForeverStep<Request = LanguageModelV4CallOptions> {
  readonly forever: ScriptedStep<Request>;
}

/** The options of `scriptedModel`. */
export interface ScriptedModelOptions<Specification extends ModelSpecification = 'v4'> {
  /** Default `v4`. */
  readonly specification?: Specification;
  /** Default `scripted`. */
  readonly provider?: string;
  /** Default `scripted-model`. */
  readonly modelId?: string;
  /** What delays wait on. Default the platform's clock. */
  readonly clock?: Clock;
  /** Keep copies of the requests in `requests`. Default true; benchmarks turn it off. */
  readonly record?: boolean;
}

/** What a scripted model can tell, beside being a model. */
export interface ScriptedModelRecord<Specification extends ModelSpecification = 'v4'> {
  /** What it was asked, in order: deep-frozen copies. Empty with `record: false`. */
  readonly requests: readonly RequestOf<Specification>[];
  /** How often it was asked. */
  readonly count: number;
  /** Throws if a reply of the script was not used. A `forever` need not be. */
  assertUsed(): void;
}

/** A scripted model of one specification. */
export type ScriptedModel<Specification extends ModelSpecification = 'v4'> = Specifications[Specification]['model'] &
  ScriptedModelRecord<Specification>;

/** Answers every request from here on with `reply`. A function for a model of v3 or v2 names the type of its request. */
export function forever(reply: ScriptedReply): ForeverStep<unknown>;
/** Answers every request from here on with what `reply` makes of it. */
export function forever<Request = LanguageModelV4CallOptions>(
  reply: (request: Request, index: number) => ScriptedReply | Promise<ScriptedReply>,
): ForeverStep<NoInfer<Request>>;
export function forever(reply: ScriptedStep<never>): ForeverStep<never> {
  return Object.freeze({ forever: reply });
}

/** A model was asked more often than its script has replies. Asking again does not help. */
export class ScriptExhaustedError extends Error {
  /** For whoever decides on retries by the provider's word: never. */
  readonly isRetryable = false;

  static {
    Object.defineProperty(ScriptExhaustedError.prototype, 'name', {
      value: 'ScriptExhaustedError',
      configurable: true,
    });
  }
}

/**
 * A model that gives the i-th reply to the i-th request, by `doStream` and `doGenerate` alike. It heeds the request's signal, and a
 * request too many rejects with `ScriptExhaustedError`. Throws `TypeError` for a script that cannot be played.
 */
export function scriptedModel<Specification extends ModelSpecification = 'v4'>(
  replies:
    | readonly (ScriptedStep<RequestOf<Specification>> | ForeverStep<RequestOf<Specification>>)[]
    | ForeverStep<RequestOf<Specification>>,
  options: ScriptedModelOptions<Specification> = {},
): ScriptedModel<Specification> {
  const script = new Script(Array.isArray(replies) ? replies : [replies], options);
  const specification: ModelSpecification = options.specification ?? 'v4';
  const model = {
    specificationVersion: specification,
    provider: options.provider ?? 'scripted',
    modelId: options.modelId ?? 'scripted-model',
    supportedUrls: {},
    get requests() {
      return script.requests;
    },
    get count() {
      return script.count;
    },
    assertUsed: () => script.assertUsed(),
    doGenerate: async (request: Request) => generate(await script.answer(request), specification),
    doStream: async (request: Request) => ({ stream: stream(await script.answer(request), specification) }),
  };
  // One object speaks the specification that it was asked for; the compiler cannot follow a type parameter that far.
  return Object.freeze(model) as unknown as ScriptedModel<Specification>;
}

type Request = Specifications[ModelSpecification]['request'];
type AnyStep = ScriptedStep<never> | ForeverStep<never>;

/** A reply on its way to the one who asked. */
interface Answer {
  readonly reply: ScriptedReply;
  readonly response: GenerateResult;
  /** The request's signal; absent for a reply that does not heed it. */
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

class Script {
  readonly requests: Request[] = [];
  count = 0;
  readonly #steps: readonly AnyStep[];
  readonly #name: string;
  readonly #clock: Clock;
  readonly #record: boolean;

  constructor(steps: readonly AnyStep[], options: ScriptedModelOptions<ModelSpecification>) {
    steps.forEach((step, index) => {
      if (isForever(step)) {
        if (index < steps.length - 1) throw new TypeError(`reply ${index + 1} of the script comes after a forever(…)`);
        requireStep(step.forever, index);
      } else requireStep(step, index);
    });
    this.#steps = [...steps];
    this.#name = options.modelId ?? 'scripted-model';
    this.#clock = options.clock ?? systemClock;
    this.#record = options.record ?? true;
  }

  async answer(request: Request): Promise<Answer> {
    const index = this.count++;
    if (this.#record) this.requests.push(frozenCopy(request));
    const step = this.#stepAt(index);
    const reply = typeof step === 'function' ? await step(request as never, index) : step;
    requireReply(reply, index);
    const signal = reply.deaf ? undefined : request.abortSignal;
    signal?.throwIfAborted();
    if (reply.delayMs) await pause(reply.delayMs, this.#clock, signal);
    if (reply.error !== undefined && reply.errorAfter === undefined && !reply.errorAsPart) throw reply.error;
    return { reply, response: responseOf(reply, index), signal, clock: this.#clock };
  }

  assertUsed(): void {
    const expected = this.#steps.filter(step => !isForever(step)).length;
    if (this.count >= expected) return;
    throw new Error(
      `scripted model "${this.#name}" was asked ${this.count} times, but its script has ${expected} replies`,
    );
  }

  #stepAt(index: number): ScriptedStep<never> {
    const step = this.#steps[index] ?? this.#steps.at(-1);
    if (step !== undefined && isForever(step)) return step.forever;
    if (step !== undefined && index < this.#steps.length) return step;
    throw new ScriptExhaustedError(
      `scripted model "${this.#name}" was asked ${index + 1} times, but its script has ${this.#steps.length} replies: add a reply, or use forever(…)`,
    );
  }
}

function isForever(step: AnyStep): step is ForeverStep<never> {
  return typeof step === 'object' && step !== null && 'forever' in step;
}

function requireStep(step: unknown, index: number): void {
  if (typeof step !== 'function') requireReply(step, index);
}

/** What a stream breaks with where nothing else is said: what `fetch` gives for a lost connection. */
function breakOf({ error }: ScriptedReply): unknown {
  return error ?? new TypeError('terminated');
}

async function generate(
  { reply, response, signal, clock }: Answer,
  specification: ModelSpecification,
): Promise<object> {
  if (reply.hangAfter !== undefined) await pause(Number.POSITIVE_INFINITY, clock, signal);
  if (reply.errorAfter !== undefined || reply.errorAsPart) throw breakOf(reply);
  switch (specification) {
    case 'v4':
      return response;
    case 'v3':
      return asV3(response);
    case 'v2':
      return asV2(response, v2FinishReason(reply, response));
  }
}

/** The parts go out one by one, as they are asked for, so that a signal or a break can come between any two. */
function stream({ reply, response, signal, clock }: Answer, specification: ModelSpecification): ReadableStream<object> {
  const parts = streamParts(reply, response, specification);
  const breakAt = reply.errorAsPart ? undefined : within(reply.errorAfter, parts);
  const hangAt = within(reply.hangAfter, parts);
  const partDelayMs = reply.partDelayMs ?? 0;
  const cancelled = partDelayMs > 0 || hangAt !== undefined ? new AbortController() : undefined;
  const stopped = cancelled && signal ? AbortSignal.any([cancelled.signal, signal]) : (cancelled?.signal ?? signal);
  let sent = 0;
  return new ReadableStream<object>(
    {
      async pull(controller) {
        signal?.throwIfAborted();
        if (sent === hangAt) await pause(Number.POSITIVE_INFINITY, clock, stopped);
        if (partDelayMs > 0) await pause(partDelayMs, clock, stopped);
        if (sent === breakAt) throw breakOf(reply);
        const part = parts[sent++];
        if (part !== undefined) controller.enqueue(part);
        // A break or a halt after the last part comes with the next pull, so the stream stays open for it.
        if (sent >= parts.length && sent !== breakAt && sent !== hangAt) controller.close();
      },
      cancel: reason => cancelled?.abort(reason),
    },
    { highWaterMark: 0 },
  );
}

/** The place in a stream that is meant: its end for what lies beyond. */
function within(place: number | undefined, parts: readonly object[]): number | undefined {
  return place === undefined ? undefined : Math.min(place, parts.length);
}

function streamParts(reply: ScriptedReply, response: GenerateResult, specification: ModelSpecification): object[] {
  const parts = reply.errorAsPart ? withErrorPart(reply, response) : partsOf(response, splitOf(reply));
  if (specification === 'v4') return parts;
  if (specification === 'v3') return parts.flatMap(partAsV3);
  return parts.flatMap(part => partAsV2(part, v2FinishReason(reply, response)));
}

function withErrorPart(reply: ScriptedReply, response: GenerateResult): ModelStreamPart[] {
  const failed = { ...response, finishReason: { unified: 'error' as const, raw: reply.rawFinishReason } };
  const parts = partsOf(failed, splitOf(reply));
  const place = Math.min(reply.errorAfter ?? parts.length - 1, parts.length - 1);
  return [...parts.slice(0, place), { type: 'error', error: breakOf(reply) }, ...parts.slice(-1)];
}

function v2FinishReason(reply: ScriptedReply, { finishReason }: GenerateResult): string {
  if (reply.finishReason === 'unknown') return 'unknown';
  if (reply.errorAsPart) return 'error';
  return finishReason.unified === 'interrupted' ? 'other' : finishReason.unified;
}
