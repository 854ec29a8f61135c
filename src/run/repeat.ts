/**
 * A stuck model makes the same call, gets the same result, and makes it again. This counts over steps, never over the width of
 * one batch: the same call twice in one response is one step of it.
 */

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { LoopBehaviour } from '../define/behaviour.ts';
import { canonicalJson } from '../define/canonical.ts';
import type { RepeatedCall } from './resume.ts';

interface Streak {
  readonly toolName: string;
  /** In how many steps in a row the call was made and gave this result. */
  times: number;
  /** The result, or its digest where it was read from a journal and had a line added. */
  result: Shown;
}

/** A result as text, or as the digest of one. */
export type Shown = string | { readonly digest: string };

export class RepeatWatch {
  readonly #rule: Exclude<LoopBehaviour['repeat'], false> | undefined;
  #previous: ReadonlyMap<string, Streak> = new Map();
  #current = new Map<string, Streak>();

  /** `ran` are the calls of the steps so far, where another process began the turn. */
  constructor(rule: LoopBehaviour['repeat'], ran: readonly (readonly RepeatedCall[])[] = []) {
    this.#rule = rule === false ? undefined : rule;
    for (const calls of ran) {
      this.nextStep();
      for (const { toolName, asked, result } of calls) this.note(toolName, asked, result);
    }
  }

  /** A step with calls begins: what was not called again in the step before is forgotten. */
  nextStep(): void {
    if (this.#rule === undefined) return;
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /** Notes one call and its result. Gives the line for the result where the call has been repeated too often, else `undefined`. */
  note(toolName: string, input: unknown, result: Shown): string | undefined {
    if (this.#rule === undefined) return undefined;
    const key = `${toolName} ${canonicalJson(input)}`;
    const streak = this.#streak(key, toolName, result);
    if (streak.times < this.#rule.warn) return undefined;
    return `Note: this is the same call with the same result for the ${ordinal(streak.times)} time in a row. Repeating it will not help: do something else, or answer with what you have.`;
  }

  /** The call that was repeated up to the stop in this step. */
  get stuck(): { readonly toolName: string; readonly times: number } | undefined {
    const stop = this.#rule?.stop ?? Number.POSITIVE_INFINITY;
    for (const { toolName, times } of this.#current.values()) if (times >= stop) return { toolName, times };
    return undefined;
  }

  #streak(key: string, toolName: string, result: Shown): Streak {
    const sameStep = this.#current.get(key);
    if (sameStep !== undefined) {
      if (!isSame(sameStep.result, result)) {
        sameStep.result = result;
        sameStep.times = 0; // one call, two results: it is not stuck
      }
      return sameStep;
    }
    const before = this.#previous.get(key);
    const times = before !== undefined && isSame(before.result, result) ? before.times + 1 : 1;
    const streak = { toolName, times, result };
    this.#current.set(key, streak);
    return streak;
  }
}

/** What stands for a result's text where it was changed by a line: SHA-256, half of it. */
export function digestOf(result: Shown): string {
  return typeof result === 'string' ? bytesToHex(sha256(utf8ToBytes(result))).slice(0, 32) : result.digest;
}

function isSame(one: Shown, other: Shown): boolean {
  return typeof one === 'string' && typeof other === 'string' ? one === other : digestOf(one) === digestOf(other);
}

function ordinal(count: number): string {
  const ends = ['th', 'st', 'nd', 'rd'];
  const tens = count % 100;
  return `${count}${ends[tens > 10 && tens < 14 ? 0 : count % 10] ?? 'th'}`;
}
