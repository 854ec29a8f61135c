/** A call and its outcome, in words for people. */
import type { TurnEvent } from '../index.ts';
import { OUTCOME_WORDS, outputText } from '../report/model/format.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { OpenCall } from './turn-progress.ts';

/** A call that has its result. */
export type CompletedCall = Extract<TurnEvent, { type: 'tool.completed' }>;

/** No more of a text than this is looked at: it ends up in one line. */
const MOST_CHARACTERS = 200;

/** How the call ended, in a word or two; empty for one that simply worked. */
export function outcomeWord({ outcome }: CompletedCall): string {
  return outcome === 'done' ? '' : OUTCOME_WORDS[outcome];
}

/** The name of a tool as a model gave it: it may be anything. */
export function toolLabel(toolName: string, secrets: SecretFilter): string {
  return oneLine(toolName.slice(0, MOST_CHARACTERS), secrets);
}

/** What the call is about: the tool's own summary, without a verb that its name begins with, or else its arguments. */
export function callLabel({ toolName, summary, input }: OpenCall, secrets: SecretFilter): string {
  if (summary === undefined) return oneLine(compact(input), secrets);
  const verb = `${toolName.split('_', 1)[0]} `;
  const label = summary.startsWith(verb) ? summary.slice(verb.length) : summary;
  return oneLine(label.slice(0, MOST_CHARACTERS), secrets);
}

/** A tool's word on how far it is. */
export function updateLabel(update: unknown, secrets: SecretFilter): string {
  const text = typeof update === 'string' ? update : compact(update);
  return oneLine(text.slice(0, MOST_CHARACTERS), secrets);
}

/** Why a call gave an error: the beginning of what the model was told. Empty for one that worked. */
export function failureLabel(call: CompletedCall, secrets: SecretFilter): string {
  return call.isError ? resultLabel(call, secrets) : '';
}

/** The beginning of what the model was told. */
export function resultLabel({ output }: CompletedCall, secrets: SecretFilter): string {
  const text = outputText(output, compact);
  return oneLine(text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text, secrets);
}

function compact(value: unknown): string {
  if (value === undefined) return '';
  const text = JSON.stringify(value) ?? '';
  return text === '{}' ? '' : text.slice(0, MOST_CHARACTERS);
}
