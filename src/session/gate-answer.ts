/** A person's answer to a gate, read and checked. */
import { type GateRule, resolveRules } from '../define/gate.ts';
import { readOptions } from '../define/options.ts';
import type { AccessRequest } from '../define/tool.ts';
import { GateError } from '../errors.ts';
import type { JSONValue } from '../model/model.ts';
import { show } from '../show.ts';

/** A person's answer to a gate. An approval is for the call as it was shown, and is used once. */
export type GateAnswer =
  | { readonly decision: 'approve' }
  /**
   * Approves, and allows the like of it for the rest of the session: what the gate shows, action and target as they stand, or
   * wider `rules` (only such that allow).
   */
  | { readonly decision: 'approveAlways'; readonly rules?: readonly GateRule[] }
  | { readonly decision: 'deny'; readonly reason?: string }
  /** Approves the call with other arguments. They are checked as the model's are, and the model is told. */
  | { readonly decision: 'edit'; readonly input: JSONValue };

/** An answer, checked. */
export type ReadAnswer =
  | { readonly decision: 'approved'; readonly input: JSONValue | undefined; readonly rules: readonly GateRule[] }
  | { readonly decision: 'denied'; readonly reason: string };

const FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['approve', []],
  ['approveAlways', ['rules']],
  ['deny', ['reason']],
  ['edit', ['input']],
]);

/** Reads an answer to a gate that shows `requests`. Throws `GateError` `invalid_answer`; the gate stays open then. */
export function readAnswer(gateId: string, given: unknown, requests: readonly AccessRequest[]): ReadAnswer {
  const refuse = (_field: string, message: string): GateError => new GateError('invalid_answer', gateId, message);
  const decision: unknown = Object(given).decision;
  const fields = FIELDS.get(decision);
  if (fields === undefined) {
    throw refuse('', 'an answer needs a decision: "approve", "approveAlways", "deny" or "edit"');
  }
  const options: Record<string, unknown> = readOptions(given, ['decision', ...fields], 'an answer', refuse);
  switch (decision) {
    case 'deny': {
      const { reason } = options;
      if (reason !== undefined && typeof reason !== 'string') {
        throw refuse('', `the reason of an answer must be text, not ${show(reason)}`);
      }
      return { decision: 'denied', reason: reason === undefined || reason.trim() === '' ? 'a person said no' : reason };
    }
    case 'edit':
      return { decision: 'approved', input: editedInput(options.input, refuse), rules: [] };
    case 'approveAlways':
      return { decision: 'approved', input: undefined, rules: rulesOf(options.rules, requests, refuse) };
    default:
      return { decision: 'approved', input: undefined, rules: [] };
  }
}

/** A copy that nobody else holds. */
function editedInput(input: unknown, refuse: (field: string, message: string) => GateError): JSONValue {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(input));
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as JSONValue;
  } catch {
    // said below
  }
  throw refuse('', `the input of an answer must be a JSON object, not ${show(input)}`);
}

/** The narrowest rules by default: exactly what was shown, in which a star is a star. */
function rulesOf(
  rules: unknown,
  requests: readonly AccessRequest[],
  refuse: (field: string, message: string) => GateError,
): readonly GateRule[] {
  if (rules === undefined) return requests.map(({ action, target }) => exactly(action, target, refuse));
  const resolved = resolveRules(rules, 'rules', refuse).map(({ rule }) => rule);
  const other = resolved.find(({ decision }) => decision !== 'allow');
  if (other !== undefined) throw refuse('', `the rules of an answer must allow, not ${other.decision}`);
  return Object.freeze(resolved);
}

function exactly(action: string, target: string, refuse: (field: string, message: string) => GateError): GateRule {
  if (target.includes('*') || action === '*') {
    throw refuse('', `the target ${show(target)} would be a pattern: say which rules to make, with "rules"`);
  }
  return Object.freeze({ action, target, decision: 'allow' });
}
