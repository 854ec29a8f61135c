/** A session's history as the messages of a page: what `useChat` begins with when it is loaded again. */
import type { UIMessage } from 'ai';
import {
  type AssistantMessage,
  type Message,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type ToolCallPart,
  type ToolResultOutput,
  type UserMessage,
} from '../index.ts';
import { errorText, plainValue } from './output-value.ts';

type Part = UIMessage['parts'][number];

/**
 * The messages of a history, as a page shows them: a message for each input, and one for all that was answered to it. Ids count from `message-0`. A turn that runs is not
 * committed yet: `toUIMessageStream` tells it. A call that was not permitted is a failed one here, since a history says no more.
 */
export function toUIMessages(history: readonly Message[]): UIMessage[] {
  const messages: UIMessage[] = [];
  const outputs = outputsOf(history);
  const add = (role: 'user' | 'assistant', parts: readonly Part[]): void => {
    const last = messages.at(-1);
    if (role === 'assistant' && last?.role === 'assistant') last.parts.push(...parts);
    else messages.push({ id: `message-${messages.length}`, role, parts: [...parts] });
  };
  for (const message of history) {
    if (message.role === 'user') add('user', userParts(message.content));
    else if (message.role === 'assistant') {
      const parts = message.content.flatMap(part => assistantPart(part, outputs));
      add('assistant', [{ type: 'step-start' }, ...parts]);
    }
  }
  return messages;
}

function outputsOf(history: readonly Message[]): ReadonlyMap<string, ToolResultOutput> {
  const outputs = new Map<string, ToolResultOutput>();
  for (const { role, content } of history) {
    if (role !== 'tool') continue;
    for (const part of content) if (part.type === 'tool-result') outputs.set(part.toolCallId, part.output);
  }
  return outputs;
}

/** What a user said, as parts of a message. */
export function userParts(content: readonly UserMessage['content'][number][]): Part[] {
  return content.flatMap(userPart);
}

function userPart(part: UserMessage['content'][number]): Part[] {
  return part.type === 'text' ? [{ type: 'text', text: part.text }] : filePart(part);
}

/** A file whose data a page can be handed; one that only its provider has cannot be. */
function filePart({ data, mediaType, filename }: Extract<UserMessage['content'][number], { type: 'file' }>): Part[] {
  const named = filename === undefined ? {} : { filename };
  if (data.type === 'url') return [{ type: 'file', mediaType, url: data.url.href, ...named }];
  if (data.type !== 'data' || typeof data.data !== 'string') return [];
  return [{ type: 'file', mediaType, url: `data:${mediaType};base64,${data.data}`, ...named }];
}

function assistantPart(
  part: AssistantMessage['content'][number],
  outputs: ReadonlyMap<string, ToolResultOutput>,
): Part[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text === '' ? [] : [{ type: part.type, text: part.text, state: 'done' }];
    case 'file':
      return filePart(part);
    case 'tool-call':
      return part.providerExecuted === true ? [] : toolPart(part, outputs.get(part.toolCallId));
    default:
      return []; // what providers keep for themselves
  }
}

function toolPart({ toolCallId, toolName, input }: ToolCallPart, output: ToolResultOutput | undefined): Part[] {
  const isError = output === undefined || output.type.startsWith('error') || output.type === 'execution-denied';
  if (toolName === STRUCTURED_OUTPUT_TOOL_NAME) return isError ? [] : [{ type: 'data-output', data: input }];
  const call = { type: `tool-${toolName}` as const, toolCallId, input };
  if (isError) {
    const said = output === undefined ? 'there is no result' : errorText(output);
    return [{ ...call, state: 'output-error', errorText: said }];
  }
  return [{ ...call, state: 'output-available', output: plainValue(output) }];
}
