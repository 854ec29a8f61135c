/** Rules about what calls may do. They look at what a call says that it wants (`access`), and never at its raw arguments. */
import { show } from '../show.ts';
import { copyList, type Refusal, readOptions } from './options.ts';
import { targetMatcher } from './target-pattern.ts';
import type { AccessRequest } from './tool.ts';

/** What a rule decides. */
export type GateDecision = 'allow' | 'deny' | 'ask';

/** One rule. Of all that match, deny beats allow beats ask, whatever their order. */
export interface GateRule {
  /** The action it is about; `*` for all. */
  readonly action: string;
  /** The targets it is about: `*` stands for anything but `/`, `**` for anything. Default: all. */
  readonly target?: string;
  /** What is decided: of all rules that match, `deny` beats `allow` beats `ask`. */
  readonly decision: GateDecision;
}

/** A rule ready for use. */
export interface ResolvedRule {
  /** As it was given, copied. */
  readonly rule: GateRule;
  matches(access: AccessRequest): boolean;
}

/** Takes a list of rules, or refuses it with the place of what is none. */
export function resolveRules(rules: unknown, place: string, refuse: Refusal): readonly ResolvedRule[] {
  if (rules === undefined) return Object.freeze([]);
  const list = copyList(rules);
  if (list === undefined) throw refuse(place, `${place} must be a list of rules, not ${show(rules)}`, { value: rules });
  return Object.freeze(list.map((rule, index) => resolveRule(rule, `${place}[${index}]`, refuse)));
}

/** An option of another name is refused: a misspelt `target` would make a rule for all targets. */
function resolveRule(given: unknown, place: string, refuse: Refusal): ResolvedRule {
  const { action, target, decision } = readOptions(given, ['action', 'target', 'decision'], place, refuse);
  if (typeof action !== 'string') throw refuse(place, `${place}.action must be text, not ${show(action)}`);
  if (target !== undefined && typeof target !== 'string') {
    throw refuse(place, `${place}.target must be a pattern or absent, not ${show(target)}`);
  }
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'ask') {
    throw refuse(place, `${place}.decision must be "allow", "deny" or "ask", not ${show(decision)}`);
  }
  const fits = target === undefined ? undefined : targetMatcher(target);
  return Object.freeze({
    rule: Object.freeze({ action, ...(target === undefined ? {} : { target }), decision }),
    matches: (access: AccessRequest) => (action === '*' || action === access.action) && (fits?.(access.target) ?? true),
  });
}

/** What rules say of one request: deny beats allow beats ask. What no rule is about has to be asked. */
export function decisionOf(rules: readonly ResolvedRule[], access: AccessRequest): GateDecision {
  let decision: GateDecision = 'ask';
  for (const { rule, matches } of rules) {
    if (rule.decision === 'ask' || !matches(access)) continue;
    if (rule.decision === 'deny') return 'deny';
    decision = 'allow';
  }
  return decision;
}

/** Who may do what in a loop, wherever it runs: its rules stand beside those of the rig. */
export interface LoopGateOptions {
  /** Default: none. */
  readonly rules?: readonly GateRule[] | undefined;
}

/** A loop's rules in force. */
export interface LoopGate {
  readonly rules: readonly ResolvedRule[];
}

/** A loop's `gate`, checked and copied. */
export function resolveLoopGate(gate: unknown, refuse: Refusal): LoopGate {
  if (gate === undefined) return NO_RULES;
  const { rules } = readOptions(gate, ['rules'], '"gate"', refuse);
  return Object.freeze({ rules: resolveRules(rules, 'gate.rules', refuse) });
}

const NO_RULES: LoopGate = Object.freeze({ rules: Object.freeze([]) });
