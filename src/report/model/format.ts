/** Times, counts and contents in words. */
import type { ToolResultOutput, UserContent } from '../../model/model.ts';
import type { CallView, TurnState } from './view.ts';

/** A duration: `12 ms`, `1.2 s`, `2 min 5 s`, `3 h 4 min`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.round(Math.max(0, ms))} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return joined(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  return minutes < 2_880
    ? joined(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
    : joined(Math.floor(minutes / 1_440), 'd', Math.floor((minutes % 1_440) / 60), 'h');
}

function joined(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** How long ago something was: `now`, `5 min`, `3 h`, `12 d`. */
export function ageText(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** A point in time, to the second, in UTC: a report says the same wherever it is made. A clock may say what is no time at all. */
export function timeText(at: number): string {
  if (Number.isNaN(new Date(at).getTime())) return 'at an unknown time';
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A count: `999`, `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count of tokens in little space: `999`, `12.3k`, `4.5M`. */
export function tokensText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 999_950) return `${(tokens / 1_000).toFixed(tokens < 99_950 ? 1 : 0)}k`;
  return `${(tokens / 1_000_000).toFixed(1)}M`;
}

/** `1 call`, `2 calls`. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** The text of what a user said; files by their kind. */
export function inputText(input: readonly UserContent[]): string {
  return input
    .map(part => (part.type === 'text' ? part.text : `[file: ${part.filename ?? part.mediaType}]`))
    .join('\n');
}

/** A result as the model was shown it; `json` says how a value is written. */
export function outputText(output: ToolResultOutput, json: (value: unknown) => string = jsonText): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return json(output.value);
    case 'execution-denied':
      return output.reason ?? '';
    case 'content':
      return output.value.map(part => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
  }
}

/** A value as JSON for people to read. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, undefined, 2) ?? '';
}

/** The beginning of a text in one line. */
export function lineText(text: string, most: number): string {
  const line = text
    .slice(0, most * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** What a call is about, in one line: what its tool says, or its arguments; one that is text needs no name. */
export function callText({ summary, input }: CallView, most = 120): string {
  if (summary !== undefined) return lineText(summary, most);
  const entries = Object.entries(Object(input));
  if (entries.length === 1 && typeof entries[0]?.[1] === 'string') return lineText(entries[0][1], most);
  const named = entries.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return lineText(named.join(', '), most);
}

/** How a call stands, in a word or two. */
export function callWord(call: CallView): string {
  const { outcome, gate, startedAt } = call;
  if (outcome !== undefined) return OUTCOME_WORDS[outcome];
  if (gate !== undefined && gate.resolvedAt === undefined) return 'waits for you';
  return startedAt === undefined ? 'waits' : 'running';
}

/** How a call ended, in a word or two. */
export const OUTCOME_WORDS: Readonly<Record<NonNullable<CallView['outcome']>, string>> = Object.freeze({
  ...{ done: 'done', failed: 'failed', refused: 'refused', denied: 'denied' },
  ...{ timed_out: 'timed out', interrupted: 'interrupted', not_run: 'not run' },
});

/** How a turn stands, in a word or two. */
export const TURN_WORDS: Readonly<Record<TurnState, string>> = Object.freeze({
  ...{ running: 'running', waiting: 'waits for you' },
  ...{ done: 'done', failed: 'failed', interrupted: 'interrupted' },
});
