/** Approvals in the messages of a page. A page's messages are whatever its user sends: nothing in them is taken for granted. */
import type { UIMessage } from 'ai';
import type { GateAnswer } from '../index.ts';

/** A page's answer to an open gate, as `session.answer` takes it. */
export interface PageAnswer {
  readonly gateId: string;
  readonly answer: GateAnswer;
}

/** A tool part's approval. */
interface Approval {
  readonly id: string;
  readonly approved: unknown;
  readonly reason: unknown;
  readonly isResponded: boolean;
}

/**
 * The answers to approvals that a message of a page holds: those that were given (`addToolApprovalResponse`) and whose calls have no result yet.
 * Give each to `session.answer`, which refuses what is no open gate of the session.
 */
export function answersFrom(message: UIMessage): readonly PageAnswer[] {
  const parts: unknown = message.parts;
  return approvalsIn(Array.isArray(parts) ? parts : []).flatMap(
    ({ id, approved, reason, isResponded }): PageAnswer[] => {
      if (!isResponded || typeof approved !== 'boolean') return [];
      if (approved) return [{ gateId: id, answer: { decision: 'approve' } }];
      const said = typeof reason === 'string' ? { reason } : {};
      return [{ gateId: id, answer: { decision: 'deny', ...said } }];
    },
  );
}

/** What a page's message shows: how many steps, and of the last one of them the ids of its approvals, and whether it has text. */
export interface PageProgress {
  readonly steps: number;
  readonly approvals: readonly string[];
  readonly hasText: boolean;
}

/** How far a page's message has come. */
export function progressOf({ parts }: UIMessage): PageProgress {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const isStart = (part: unknown): boolean => field(part, 'type') === 'step-start';
  const last = list.slice(list.findLastIndex(isStart) + 1);
  const isText = (part: unknown): boolean => field(part, 'type') === 'text' && field(part, 'text') !== '';
  return {
    steps: list.filter(isStart).length,
    approvals: approvalsIn(last).map(({ id }) => id),
    hasText: last.some(isText),
  };
}

function approvalsIn(parts: readonly unknown[]): readonly Approval[] {
  return parts.flatMap((part: unknown): Approval[] => {
    const type = field(part, 'type');
    if (typeof type !== 'string' || !(type === 'dynamic-tool' || type.startsWith('tool-'))) return [];
    const approval = field(part, 'approval');
    const id = field(approval, 'id');
    if (typeof id !== 'string') return [];
    const isResponded = field(part, 'state') === 'approval-responded';
    return [{ id, approved: field(approval, 'approved'), reason: field(approval, 'reason'), isResponded }];
  });
}

/** A field of something that may be anything. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
