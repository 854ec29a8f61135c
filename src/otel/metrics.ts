/** The instruments, and what is measured with them. */
import type { Attributes, Meter } from '@opentelemetry/api';
import type { Usage } from '../model/model.ts';
import type { Agent } from './agent.ts';
import { ATTRIBUTES, METRICS, OPERATIONS } from './names.ts';

/** Seconds and tokens at which the conventions want the buckets to end. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

type Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];

export class Metrics {
  readonly #duration;
  readonly #tokens;
  readonly #calls;
  readonly #limits;
  readonly #retries;

  constructor(meter: Meter) {
    this.#duration = meter.createHistogram(METRICS.duration, {
      description: 'How long turns, model calls and tools took.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    });
    this.#tokens = meter.createHistogram(METRICS.tokens, {
      description: 'Tokens of model calls.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
    });
    this.#calls = meter.createCounter(METRICS.calls, { description: 'Calls by how they came out.', unit: '{call}' });
    this.#limits = meter.createCounter(METRICS.limits, { description: 'Turns that reached a limit.', unit: '{turn}' });
    this.#retries = meter.createCounter(METRICS.retries, {
      description: 'Model requests that failed and were tried again.',
      unit: '{retry}',
    });
  }

  /** An operation that took so many milliseconds. */
  took(operation: Operation, ms: number, attributes: Attributes, error: string | undefined): void {
    const failed = error === undefined ? {} : { [ATTRIBUTES.error]: error };
    this.#duration.record(ms / 1_000, { ...attributes, [ATTRIBUTES.operation]: operation, ...failed });
  }

  /** What a response cost; nothing where nobody told. */
  used(usage: Usage, agent: Agent): void {
    const attributes = { ...agent.ofStep, [ATTRIBUTES.operation]: OPERATIONS.step };
    const record = (type: string, count: number): void => {
      if (count > 0) this.#tokens.record(count, { ...attributes, [ATTRIBUTES.tokenType]: type });
    };
    record('input', usage.inputTokens);
    record('output', usage.outputTokens);
  }

  /** A call has its result. `toolName` only where a tool of that name exists: a model can make names up without end. */
  called(outcome: string, toolName: string | undefined, agent: Agent): void {
    const tool = toolName === undefined ? {} : { [ATTRIBUTES.tool]: toolName };
    this.#calls.add(1, { ...named(agent), ...tool, [ATTRIBUTES.callOutcome]: outcome });
  }

  limitReached(limit: string, agent: Agent): void {
    this.#limits.add(1, { ...named(agent), [ATTRIBUTES.limit]: limit });
  }

  retried(agent: Agent): void {
    this.#retries.add(1, agent.ofStep);
  }
}

function named({ name }: Agent): Attributes {
  return name === undefined ? {} : { [ATTRIBUTES.agent]: name };
}
