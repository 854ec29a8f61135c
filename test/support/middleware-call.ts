/** Calls as a middleware is told about them, and a middleware run by itself. */
import type { MiddlewareCall, ToolContent, ToolMiddleware, ToolResult } from 'looprig';

export interface TestCall {
  readonly call: MiddlewareCall;
  /** What was told by `progress`. */
  readonly updates: readonly unknown[];
  /** Aborts the call. */
  abort(reason?: unknown): void;
}

/** A call of the tool `t` of one session, unless told otherwise. */
export function testCall(changes: Partial<MiddlewareCall> = {}): TestCall {
  const controller = new AbortController();
  const updates: unknown[] = [];
  const call: MiddlewareCall = {
    ...{ callId: 'c1', toolName: 't', sessionId: 's1', loopId: 'l1', turnId: 't1', stepId: 'st1', input: {} },
    signal: controller.signal,
    budget: { iterationsLeft: 1, callsLeft: 1, tokensLeft: 1 },
    progress: update => void updates.push(update),
    ...changes,
  };
  return { call, updates, abort: reason => controller.abort(reason ?? new DOMException('stopped', 'AbortError')) };
}

/** Runs a middleware round a tool. */
export function runOnce(
  middleware: ToolMiddleware,
  tool: (input: unknown) => ToolResult | Promise<ToolResult>,
  changes: Partial<MiddlewareCall> = {},
): Promise<ToolResult> {
  const { call } = testCall(changes);
  return middleware(call, async (...changed) => tool(changed.length > 0 ? changed[0] : call.input));
}

/** What a result says: its text, or the value of its one part. */
export function said({ content }: ToolResult): unknown {
  const [only] = content;
  return content.length === 1 && only !== undefined ? value(only) : content.map(value);
}

function value(part: ToolContent): unknown {
  return part.type === 'text' ? part.text : part.type === 'json' ? part.value : part;
}
