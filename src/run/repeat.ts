/**
 * A stuck model makes the same call, gets the same result, and makes it again. This counts over steps, never over the width of
 * one batch: the same call twice in one response is one step of it.
 */

import type { LoopBehaviour } from '../define/behaviour.ts';
import { canonicalJson } from '../define/canonical.ts';

interface Streak {
  readonly toolName: string;
  /** In how many steps in a row the call was made and gave this result. */
  times: number;
  result: string;
}

export class RepeatWatch {
  readonly #rule: Exclude<LoopBehaviour['repeat'], false> | undefined;
  #previous: ReadonlyMap<string, Streak> = new Map();
  #current = new Map<string, Streak>();
  #stuck: Streak | undefined;

  constructor(rule: LoopBehaviour['repeat']) {
    this.#rule = rule === false ? undefined : rule;
  }

  /** A step with calls begins: what was not called again in the step before is forgotten. */
  nextStep(): void {
    if (this.#rule === undefined) return;
    this.#previous = this.#current;
    this.#current = new Map();
    this.#stuck = undefined;
  }

  /** Notes one call and its result. Gives the line for the result where the call has been repeated too often, else `undefined`. */
  note(toolName: string, input: unknown, result: string): string | undefined {
    if (this.#rule === undefined) return undefined;
    const key = `${toolName} ${canonicalJson(input)}`;
    const streak = this.#streak(key, toolName, result);
    if (streak.times >= this.#rule.stop) this.#stuck = streak;
    if (streak.times < this.#rule.warn) return undefined;
    return `Note: this is the same call with the same result for the ${ordinal(streak.times)} time in a row. Repeating it will not help: do something else, or answer with what you have.`;
  }

  /** The call that was repeated up to the stop in this step. */
  get stuck(): { readonly toolName: string; readonly times: number } | undefined {
    return this.#stuck && { toolName: this.#stuck.toolName, times: this.#stuck.times };
  }

  #streak(key: string, toolName: string, result: string): Streak {
    const sameStep = this.#current.get(key);
    if (sameStep !== undefined) {
      if (sameStep.result !== result) {
        sameStep.result = result;
        sameStep.times = 0; // one call, two results: it is not stuck
        if (this.#stuck === sameStep) this.#stuck = undefined;
      }
      return sameStep;
    }
    const before = this.#previous.get(key);
    const times = before !== undefined && before.result === result ? before.times + 1 : 1;
    const streak = { toolName, times, result };
    this.#current.set(key, streak);
    return streak;
  }
}

function ordinal(count: number): string {
  const ends = ['th', 'st', 'nd', 'rd'];
  const tens = count % 100;
  return `${count}${ends[tens > 10 && tens < 14 ? 0 : count % 10] ?? 'th'}`;
}
