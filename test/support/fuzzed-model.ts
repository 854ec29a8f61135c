/** A model that gives whatever a provider must not give. It notes what it gave, so that a test can compare. */
import fc from 'fast-check';
import { changed, FINISHES, type FuzzedReply, type Part, replies, USAGE, whole } from './fuzzed-reply.ts';
import { made, Veiled } from './odd-values.ts';
import { streamOf } from './stream-of.ts';

/** What a fuzzed model says, request by request, and how it is asked. */
export interface Fuzz {
  readonly specification: 'v4' | 'v3' | 'v2';
  readonly stream: boolean;
  readonly replies: readonly FuzzedReply[];
  readonly retries: number;
  /** How a typed answer is asked for, if one is. */
  readonly outputMode: 'native' | 'tool' | undefined;
  readonly isWatched: boolean;
  readonly interruptAt: number | undefined;
}

/** Any run of a model of these specifications. */
export function fuzzes(stream: boolean, ...specifications: readonly Fuzz['specification'][]): fc.Arbitrary<Fuzz> {
  return fc.record({
    specification: fc.constantFrom(...specifications),
    stream: fc.constant(stream),
    replies: fc.array(replies, { minLength: 1, maxLength: 3 }),
    retries: fc.integer({ min: 0, max: 2 }),
    outputMode: fc.constantFrom<Fuzz['outputMode']>(undefined, undefined, undefined, 'native', 'tool'),
    isWatched: fc.boolean(),
    interruptAt: fc.option(fc.nat({ max: 3_000 }), { nil: undefined, freq: 5 }),
  });
}

/** What the model gave for one request. */
export interface Given {
  /** The parts, in order, as they were given; a whole response's content. */
  readonly parts: readonly unknown[];
  readonly finishReason: unknown;
  /** Whether the response came to an end of its own: no failure, no silence. */
  readonly isWhole: boolean;
}

/** A model that gives `replies` in turn, and then, or when it is healed, a good answer. */
export class FuzzedModel {
  readonly provider = 'fuzzed';
  readonly modelId = 'fuzzed';
  readonly supportedUrls = {};
  readonly specificationVersion: Fuzz['specification'];
  /** What each request was given. */
  readonly given: Given[] = [];
  isHealed = false;
  readonly #replies: readonly FuzzedReply[];

  constructor({ specification, replies }: Fuzz) {
    this.specificationVersion = specification;
    this.#replies = replies;
  }

  doStream(): unknown {
    const reply = this.#next();
    const parts = this.#partsOf(reply).slice(0, reply.given);
    const types = parts.map(typeOf);
    const finishReason = readable(parts[types.lastIndexOf('finish')], 'finishReason');
    // A provider's own word for a stream that ended before its end.
    const isInterrupted = readable(finishReason, 'unified') === 'interrupted';
    const isFinished = types.includes('finish') && !types.includes('error') && !isInterrupted;
    this.given.push({
      ...{ parts, finishReason },
      isWhole: isFinished && reply.start === 'goes well' && reply.ending === 'closes',
    });
    return started(reply, () => {
      const thrown = made(reply.thrown);
      const stream = reply.ending === 'closes' ? streamOf(parts) : unfinished(parts, reply.ending, thrown);
      if (reply.start === 'is locked') stream.getReader();
      return { stream: reply.start === 'is iterable' ? parts[Symbol.iterator]() : stream };
    });
  }

  doGenerate(): unknown {
    const reply = this.#next();
    const content = this.#partsOf({ ...reply, parts: whole(reply.parts) });
    const end = this.#partsOf(reply).findLast(part => typeOf(part) === 'finish');
    const { finishReason, usage } = (end ?? {}) as Part;
    const { warnings, content: other, isList } = reply.around;
    const shown = isList ? content : made(other);
    // What is no list holds no parts: it may be taken for an empty response, or for none.
    this.given.push({ parts: isList ? content : [], finishReason, isWhole: !FAILING.has(reply.start) });
    return started(reply, () => ({ content: shown, finishReason, usage, warnings: made(warnings) }));
  }

  #next(): FuzzedReply {
    const reply = this.#replies[this.given.length];
    return this.isHealed || reply === undefined ? GOOD : reply;
  }

  #partsOf({ parts, changes }: FuzzedReply): unknown[] {
    return changed(parts, changes).map(part => made(this.specificationVersion === 'v2' ? finishOfV2(part) : part));
  }
}

/** Version 2 has one word for its finish, and flat counts. */
function finishOfV2(part: unknown): unknown {
  if (part instanceof Veiled) return new Veiled(finishOfV2(part.veiled));
  if (typeOf(part) !== 'finish') return part;
  const { finishReason, usage } = part as Part;
  const word = FINISHES.includes(finishReason) ? (finishReason as Part).unified : finishReason;
  return {
    ...(part as Part),
    finishReason: word,
    usage: usage === USAGE ? { inputTokens: 5, outputTokens: 4 } : usage,
  };
}

/** The type of a part, where it has one that can be read. */
export function typeOf(part: unknown): unknown {
  return readable(part, 'type');
}

/** A field of a part; `undefined` where there is none that can be read. */
export function readable(part: unknown, field: string): unknown {
  try {
    return typeof part === 'object' && part !== null ? Reflect.get(part, field) : undefined;
  } catch {
    return undefined;
  }
}

/** What a whole response cannot come through. */
const FAILING: ReadonlySet<FuzzedReply['start']> = new Set(['throws', 'rejects', 'gives nothing', 'is odd', 'hangs']);

function started({ start, thrown }: FuzzedReply, result: () => unknown): unknown {
  switch (start) {
    case 'throws':
      throw made(thrown);
    case 'rejects':
      return Promise.reject(made(thrown));
    case 'gives nothing':
      return undefined;
    case 'is odd':
      return made(thrown);
    case 'hangs':
      return new Promise(() => {});
    default:
      return Promise.resolve(result());
  }
}

function unfinished(parts: readonly unknown[], ending: 'errors' | 'hangs', thrown: unknown): ReadableStream<unknown> {
  let place = 0;
  return new ReadableStream({
    pull(controller) {
      if (place < parts.length) return controller.enqueue(parts[place++]);
      if (ending === 'errors') return controller.error(thrown);
      return new Promise(() => {});
    },
  });
}

/** An answer that fits any loop, with a schema for it or without. */
export const GOOD_ANSWER = '{"n":1}';

const GOOD: FuzzedReply = {
  parts: [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: GOOD_ANSWER },
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: FINISHES[0], usage: USAGE },
  ],
  changes: [],
  ...{ start: 'goes well', ending: 'closes', given: 1_000, thrown: undefined },
  around: { warnings: [], content: undefined, isList: true },
};
