/** The scripted model in the shape of the AI SDK's specification v4, for the libraries that take it. It keeps no state. */
import { answerOf, type Call, callsOf, type Job } from './driver.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const asks = { finishReason: { unified: 'tool-calls' as const, raw: 'tool_use' }, usage };
const answers = { finishReason: { unified: 'stop' as const, raw: 'stop' }, usage };

const callPart = ({ id, n }: Call) => ({
  type: 'tool-call' as const,
  toolCallId: id,
  toolName: 'add',
  input: `{"n":${n}}`,
});

function* partsOf(job: Job, calls: readonly Call[] | undefined) {
  yield { type: 'stream-start' as const, warnings: [] };
  if (calls === undefined) {
    yield { type: 'text-start' as const, id: '0' };
    for (const delta of answerOf(job)) yield { type: 'text-delta' as const, id: '0', delta };
    yield { type: 'text-end' as const, id: '0' };
    yield { type: 'finish' as const, ...answers };
    return;
  }
  for (const call of calls) {
    yield { type: 'tool-input-start' as const, id: call.id, toolName: 'add' };
    yield { type: 'tool-input-delta' as const, id: call.id, delta: `{"n":${call.n}}` };
    yield { type: 'tool-input-end' as const, id: call.id };
    yield callPart(call);
  }
  yield { type: 'finish' as const, ...asks };
}

interface Request {
  readonly abortSignal?: AbortSignal | undefined;
  readonly prompt: readonly { readonly role: string }[];
}

/** How many steps a prompt has behind it: each is a response and the message that answers it. Whatever stands before counts for none. */
function stepOf({ prompt }: Request): number {
  const before = prompt[0]?.role === 'system' ? 2 : 1;
  return (prompt.length - before) >> 1;
}

/** The model answers at once; `stepAt` tells it at which step it stands. */
export function modelV4(job: Job, stepAt: (request: Request) => number = stepOf) {
  return {
    specificationVersion: 'v4' as const,
    provider: 'bench',
    modelId: 'quick',
    supportedUrls: {},
    async doGenerate(request: Request) {
      request.abortSignal?.throwIfAborted();
      const calls = callsOf(job, stepAt(request));
      if (calls !== undefined) return { content: calls.map(callPart), ...asks, warnings: [] };
      return { content: [{ type: 'text' as const, text: answerOf(job).join('') }], ...answers, warnings: [] };
    },
    async doStream(request: Request) {
      request.abortSignal?.throwIfAborted();
      const parts = partsOf(job, callsOf(job, stepAt(request)));
      const stream = new ReadableStream({
        pull(controller) {
          const { done, value } = parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      });
      return { stream };
    },
  };
}

/** The ids of calls and results in messages of the AI SDK. */
export function idsOf(messages: readonly { readonly content: unknown }[]): { calls: string[]; results: string[] } {
  const calls: string[] = [];
  const results: string[] = [];
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      if (part.type === 'tool-call') calls.push(part.toolCallId);
      if (part.type === 'tool-result') results.push(part.toolCallId);
    }
  }
  return { calls, results };
}
