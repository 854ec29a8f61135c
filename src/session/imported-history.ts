/** Histories from elsewhere: checked before they are taken over, and repaired where that is asked for. */

import { HistoryError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import { copyContent } from '../model/copy.ts';
import type { Message, ToolMessage, ToolResultPart } from '../model/model.ts';

/** What a repair changed: the message concerned (its place in the list that was given), and what was done. */
export interface HistoryRepair {
  /** The message that was changed, from 0. */
  readonly index: number;
  /** What was changed, in words. */
  readonly change: string;
}

/** A history that may be taken over. */
export interface CheckedHistory {
  readonly messages: readonly Message[];
  readonly repairs: readonly HistoryRepair[];
}

/**
 * Checks that each call is answered once, by its id, in the next message, and that roles come in a legal order. Throws `HistoryError`
 * with the index of the first message that is wrong; with `repair`, answers what is unanswered and leaves out results of no call instead.
 */
export function checkHistory(history: readonly Message[], repair: boolean): CheckedHistory {
  if (!Array.isArray(history)) throw new HistoryError(0, 'a history must be a list of messages');
  const messages: Message[] = [];
  const repairs: HistoryRepair[] = [];
  const ids = new Set<string>();
  for (let index = 0; index < history.length; index++) {
    const message = copyOf(history[index], index);
    if (message.role === 'tool') {
      if (!repair)
        throw new HistoryError(index, 'a tool message must follow the assistant message whose calls it answers');
      repairs.push({ index, change: 'left out: it answers no call' });
      continue;
    }
    messages.push(message);
    if (message.role !== 'assistant') continue;
    const calls = callsOf(message, index, ids);
    if (calls.size === 0) continue;
    const answers = answersAfter(history, index, repair, repairs);
    index += answers.length;
    messages.push({ role: 'tool', content: resultsFor(calls, answers, index, repair, repairs) });
  }
  return { messages: deepFreeze(messages), repairs };
}

/** The tool message after the assistant message at `index`; where repairs are asked for, with those that follow it, as one. */
function answersAfter(
  history: readonly Message[],
  index: number,
  repair: boolean,
  repairs: HistoryRepair[],
): readonly ToolMessage[] {
  const answers: ToolMessage[] = [];
  for (let next = index + 1; next < history.length && (repair || answers.length === 0); next++) {
    const message = copyOf(history[next], next);
    if (message.role !== 'tool') break;
    if (answers.length > 0) repairs.push({ index: next, change: 'joined with the tool message before it' });
    answers.push(message);
  }
  return answers;
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

/** A copy of a message, checked: what is checked is what is taken over. */
function copyOf(given: Message | undefined, index: number): Message {
  let message: Message | undefined;
  try {
    message = copyContent(given);
  } catch {
    throw new HistoryError(index, 'it holds something that cannot be copied');
  }
  const role: unknown = message?.role;
  if (!ROLES.has(role)) throw new HistoryError(index, 'its role must be "user", "assistant" or "tool"');
  if (role === 'system')
    throw new HistoryError(index, 'a system message belongs in the loop definition, not in a history');
  const content: unknown = message?.content;
  if (!Array.isArray(content)) throw new HistoryError(index, 'its content must be a list of parts');
  const odd = content.findIndex((part: unknown) => typeof Object(part).type !== 'string');
  if (odd !== -1) throw new HistoryError(index, `part ${odd} of its content must be an object with a type`);
  return message as Message;
}

/** The calls of an assistant message that a tool message has to answer: id and tool name, in call order. */
function callsOf(
  message: Extract<Message, { role: 'assistant' }>,
  index: number,
  ids: Set<string>,
): Map<string, string> {
  const calls = new Map<string, string>();
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
    if (typeof part.toolCallId !== 'string' || part.toolCallId === '')
      throw new HistoryError(index, 'a call has no id');
    if (ids.has(part.toolCallId))
      throw new HistoryError(index, `the call id "${part.toolCallId}" stands twice in the history`);
    ids.add(part.toolCallId);
    calls.set(part.toolCallId, part.toolName);
  }
  return calls;
}

function resultsFor(
  calls: ReadonlyMap<string, string>,
  answers: readonly ToolMessage[],
  index: number,
  repair: boolean,
  repairs: HistoryRepair[],
): ToolResultPart[] {
  const results = new Map<string, ToolResultPart>();
  for (const part of answers.flatMap(answer => answer.content)) {
    if (part.type !== 'tool-result') continue;
    const problem = problemWith(part, calls, results);
    if (problem === undefined) results.set(part.toolCallId, named(part, calls, index, repair, repairs));
    else if (repair) repairs.push({ index, change: `left out ${problem}` });
    else throw new HistoryError(index, problem);
  }
  return [...calls].map(([toolCallId, toolName]) => {
    const result = results.get(toolCallId);
    if (result !== undefined) return result;
    if (!repair)
      throw new HistoryError(index, `the call "${toolCallId}" of "${toolName}" has no result in the next message`);
    repairs.push({ index, change: `answered the call "${toolCallId}" of "${toolName}"` });
    return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: 'result not available' } };
  });
}

/** A result under the name of its call, by which some providers look for it. */
function named(
  part: ToolResultPart,
  calls: ReadonlyMap<string, string>,
  index: number,
  repair: boolean,
  repairs: HistoryRepair[],
): ToolResultPart {
  const { toolCallId } = part;
  const toolName = calls.get(toolCallId) as string;
  if (part.toolName === toolName) return part;
  const problem = `the result for "${toolCallId}" names another tool than its call, which is of "${toolName}"`;
  if (!repair) throw new HistoryError(index, problem);
  repairs.push({ index, change: `renamed the result for "${toolCallId}" to "${toolName}"` });
  return { ...part, toolName };
}

function problemWith(
  { toolCallId, output }: ToolResultPart,
  calls: ReadonlyMap<string, string>,
  results: ReadonlyMap<string, unknown>,
): string | undefined {
  if (!calls.has(toolCallId)) return `a result for "${toolCallId}", which the message before it does not call`;
  if (results.has(toolCallId)) return `a second result for "${toolCallId}"`;
  if (typeof Object(output).type !== 'string') return `a result for "${toolCallId}" without an output of some type`;
  return undefined;
}
