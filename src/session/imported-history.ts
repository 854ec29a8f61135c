/** Histories from elsewhere: checked before they are taken over, and repaired where that is asked for. */

import { HistoryError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import { copyContent } from '../model/copy.ts';
import type { Message, ToolResultPart } from '../model/model.ts';

/** What a repair changed: the message concerned (its place in the list that was given), and what was done. */
export interface HistoryRepair {
  readonly index: number;
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
    const next = history[index + 1];
    const answer = next?.role === 'tool' ? copyOf(next, index + 1) : undefined;
    if (calls.size === 0 && answer === undefined) continue;
    if (answer !== undefined) index += 1;
    const results = resultsFor(calls, answer, index, repair, repairs);
    if (results.length > 0) messages.push({ role: 'tool', content: results });
  }
  return { messages: deepFreeze(messages), repairs };
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

function copyOf(message: Message | undefined, index: number): Message {
  const role: unknown = message?.role;
  if (!ROLES.has(role)) throw new HistoryError(index, 'its role must be "user", "assistant" or "tool"');
  if (role === 'system')
    throw new HistoryError(index, 'a system message belongs in the loop definition, not in a history');
  if (!Array.isArray(message?.content)) throw new HistoryError(index, 'its content must be a list of parts');
  try {
    return copyContent(message) as Message;
  } catch {
    throw new HistoryError(index, 'it holds something that cannot be copied');
  }
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
  answer: Message | undefined,
  index: number,
  repair: boolean,
  repairs: HistoryRepair[],
): ToolResultPart[] {
  const results = new Map<string, ToolResultPart>();
  for (const part of answer?.role === 'tool' ? answer.content : []) {
    if (part.type !== 'tool-result') continue;
    const problem = !calls.has(part.toolCallId)
      ? `a result for "${part.toolCallId}", which the message before it does not call`
      : results.has(part.toolCallId)
        ? `a second result for "${part.toolCallId}"`
        : undefined;
    if (problem === undefined) results.set(part.toolCallId, part);
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
