/**
 * A stuck model makes the same call, gets the same result, and makes it again. This counts over steps, never over the width of
 * one batch: the same call twice in one response is one step of it.
 */

import type { LoopBehaviour } from '../define/behaviour.ts';
import { canonicalJson } from '../define/canonical.ts';
import type { ToolResultOutput } from '../model/model.ts';
import { outputText } from './result.ts';
import type { RepeatedCall } from './resume.ts';

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

  /** `ran` are the calls of the steps so far, where another process began the turn. */
  constructor(rule: LoopBehaviour['repeat'], ran: readonly (readonly RepeatedCall[])[] = []) {
    this.#rule = rule === false ? undefined : rule;
    for (const calls of ran) {
      this.nextStep();
      for (const { toolName, asked, output } of calls) this.noteRecorded(toolName, asked, output);
    }
  }

  /** A step with calls begins: what was not called again in the step before is forgotten. */
  nextStep(): void {
    if (this.#rule === undefined) return;
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /** Notes one call and its result. Gives the line for the result where the call has been repeated too often, else `undefined`. */
  note(toolName: string, input: unknown, result: string): string | undefined {
    if (this.#rule === undefined) return undefined;
    const key = `${toolName} ${canonicalJson(input)}`;
    const streak = this.#streak(key, toolName, result);
    if (streak.times < this.#rule.warn) return undefined;
    return `${LINE_BEGINS}${ordinal(streak.times)}${LINE_ENDS}`;
  }

  /** Notes a call whose result was recorded, with the line that it may have been given. */
  noteRecorded(toolName: string, asked: unknown, output: ToolResultOutput): void {
    this.note(toolName, asked, textWithoutLine(output));
  }

  /** The call that was repeated up to the stop in this step. */
  get stuck(): { readonly toolName: string; readonly times: number } | undefined {
    const stop = this.#rule?.stop ?? Number.POSITIVE_INFINITY;
    for (const { toolName, times } of this.#current.values()) if (times >= stop) return { toolName, times };
    return undefined;
  }

  #streak(key: string, toolName: string, result: string): Streak {
    const sameStep = this.#current.get(key);
    if (sameStep !== undefined) {
      if (sameStep.result !== result) {
        sameStep.result = result;
        sameStep.times = 0; // one call, two results: it is not stuck
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

const LINE_BEGINS = 'Note: this is the same call with the same result for the ';
const LINE_ENDS = ' time in a row. Repeating it will not help: do something else, or answer with what you have.';
const LINE = new RegExp(`(?:\\n\\n)?${LINE_BEGINS}\\d+(?:st|nd|rd|th)${LINE_ENDS}$`);

/** A result's text as it was before its line was added. */
function textWithoutLine(output: ToolResultOutput): string {
  if (output.type !== 'content') return outputText(output).replace(LINE, '');
  const last = output.value.at(-1);
  const hasLine = last?.type === 'text' && LINE.test(last.text);
  return outputText(hasLine ? { ...output, value: output.value.slice(0, -1) } : output);
}

function ordinal(count: number): string {
  const ends = ['th', 'st', 'nd', 'rd'];
  const tens = count % 100;
  return `${count}${ends[tens > 10 && tens < 14 ? 0 : count % 10] ?? 'th'}`;
}
