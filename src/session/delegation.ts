/** Runs delegates: opens or finds the child session of a call, runs or takes up its turn, and makes its end the call's result. */

import type { DelegateRequest, Delegation } from '../define/bindings.ts';
import type { LoopDefinition } from '../define/loop.ts';
import { type ToolCall, type ToolResult, toolResult } from '../define/tool.ts';
import { describeLimit } from '../errors.ts';
import { namedId } from '../ids.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import type { JSONValue } from '../model/model.ts';
import { shareOf } from '../run/budget.ts';
import { DELEGATE_EVENT } from './delegate.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';

/** Whose child a session is. */
export interface Parentage {
  readonly sessionId: string;
  readonly callId: string;
  /** How deep the child is; the session that nobody delegated to is at 0. */
  readonly depth: number;
}

/** What running delegates needs of a rig and of the session that delegates. */
export interface DelegationParts {
  readonly store: JournalStore;
  readonly sessionId: string;
  readonly depth: number;
  /** The child sessions that run: whoever is asked about their gates finds them here. */
  readonly children: Set<Session>;
  openChild(loop: LoopDefinition, sessionId: string, parent: Parentage): Promise<Session>;
}

/** Names the ids of child sessions: one id a parent and call, so that a call that runs again finds its child. */
const CHILD_IDS = 'b6f0d8a2-6d0e-4f5c-9a63-2f6d3b1f9c11';

/** The session of the delegate that a call runs. */
export function childIdOf(sessionId: string, callId: string): string {
  return namedId(`${sessionId} ${callId}`, CHILD_IDS);
}

export function delegationOf(parts: DelegationParts): Delegation {
  return Object.freeze({ run: (request: DelegateRequest, call: ToolCall) => runDelegate(parts, request, call) });
}

async function runDelegate(
  { store, sessionId, depth, children, openChild }: DelegationParts,
  { loop, message, limits }: DelegateRequest,
  call: ToolCall,
): Promise<ToolResult> {
  const childId = childIdOf(sessionId, call.callId);
  const known = await store.find(childId);
  const ended = known === undefined ? undefined : await endOf(store, childId);
  if (ended !== undefined) {
    shareOf(call.budget)?.addUsed(ended.calls, ended.usage); // the caller's process ended before it could count this
    return ended.result;
  }
  const session = await openChild(loop, childId, { sessionId, callId: call.callId, depth: depth + 1 });
  children.add(session);
  try {
    const { budget } = call;
    const turn =
      session.unfinished === undefined
        ? session.submit(message, { budget, ...(limits === undefined ? {} : { limits }) })
        : session.resume({ budget });
    return await follow(session, turn, call);
  } finally {
    children.delete(session);
    await session.close().catch(() => {}); // what it said is not lost by a disposer that fails
  }
}

async function follow(session: Session, turn: Turn, call: ToolCall): Promise<ToolResult> {
  const stop = (): void => turn.interrupt('the turn that delegated was stopped');
  if (call.signal.aborted) stop();
  else call.signal.addEventListener('abort', stop, { once: true });
  for await (const event of turn) {
    call.progress({ type: DELEGATE_EVENT, sessionId: session.id, event: event as unknown as JSONValue });
  }
  call.signal.removeEventListener('abort', stop);
  const result = await turn.result;
  if (result.status === 'released') await aborted(call.signal);
  if (result.status === 'released') return failed('the delegate was left to another process'); // nobody records it
  if (result.status === 'interrupted') return failed(`the delegate was interrupted: ${result.reason ?? 'by its user'}`);
  if (result.status === 'failed') return failed(`the delegate failed: ${result.error.message}`);
  const limit = result.limited === undefined ? '' : ` (it stopped early: ${describeLimit(result.limited)})`;
  return answered(result.output, `${result.text}${limit}`);
}

/** A call whose delegate was released has no result: its own session is released right after. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function answered(output: unknown, text: string): ToolResult {
  return output === undefined ? toolResult(text) : toolResult([{ type: 'json', value: output }]);
}

function failed(text: string): ToolResult {
  return toolResult(text, { isError: true });
}

/** How a child's turn ended, from its journal; `undefined` while it has not. */
async function endOf(store: JournalStore, childId: string) {
  let text = '';
  let end: Extract<JournalRecord, { type: 'turn.done' | 'turn.failed' | 'turn.interrupted' }> | undefined;
  for await (const record of store.read(childId, 1)) {
    if (record.type === 'step.responded') text = textOf(record.message.content);
    if (record.type === 'turn.done' || record.type === 'turn.failed' || record.type === 'turn.interrupted')
      end = record;
  }
  if (end === undefined) return undefined;
  const { usage, calls } = end;
  if (end.type === 'turn.done') return { usage, calls, result: answered(end.output, end.text ?? text) };
  const why =
    end.type === 'turn.failed' ? `failed: ${end.error.message}` : `was interrupted: ${end.reason ?? 'by its user'}`;
  return { usage, calls, result: failed(`the delegate ${why}`) };
}

function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map(part => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}
