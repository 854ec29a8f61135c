import type { AssistantMessage, Message, ToolCallPart, ToolMessage } from '../model/model.ts';

/**
 * Throws unless every call of the history has exactly one result, by its id and under its name, in the tool message right after it,
 * every result has its call, and no id stands twice. Calls that the provider ran are its own business.
 */
export function assertPaired(history: readonly Message[]): void {
  const ids = new Set<string>();
  history.forEach((message, index) => {
    if (message.role === 'assistant') requireResults(message, index, history[index + 1], ids);
    else if (message.role === 'tool') requireCalls(message, index, history[index - 1]);
  });
}

function requireResults(message: AssistantMessage, index: number, next: Message | undefined, ids: Set<string>): void {
  for (const { toolCallId, toolName } of callsOf(message)) {
    if (ids.has(toolCallId)) throw unpaired(index, `the id "${toolCallId}" of a call stands twice in the history`);
    ids.add(toolCallId);
    const results = next?.role === 'tool' ? resultsOf(next).filter(result => result.toolCallId === toolCallId) : [];
    if (results.length === 1 && results[0]?.toolName === toolName) continue;
    const found =
      results.length === 1
        ? `its result names the tool "${results[0]?.toolName}"`
        : `${results.length} results follow it`;
    throw unpaired(
      index,
      `the call "${toolCallId}" of "${toolName}" must have one result in the next message, but ${found}`,
    );
  }
}

function requireCalls(message: ToolMessage, index: number, previous: Message | undefined): void {
  const asked = new Set(previous?.role === 'assistant' ? callsOf(previous).map(call => call.toolCallId) : []);
  for (const { toolCallId } of resultsOf(message)) {
    if (asked.has(toolCallId)) continue;
    throw unpaired(index, `the result "${toolCallId}" has no call in the message before it`);
  }
}

function callsOf(message: AssistantMessage): readonly ToolCallPart[] {
  return message.content.filter(part => part.type === 'tool-call').filter(call => !call.providerExecuted);
}

function resultsOf(message: ToolMessage) {
  return message.content.filter(part => part.type === 'tool-result');
}

function unpaired(index: number, what: string): Error {
  return new Error(`history message ${index}: ${what}`);
}
