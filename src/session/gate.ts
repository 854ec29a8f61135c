/**
 * Who may do what. A call says what it wants (`access`), rules decide on that, and never on its raw arguments. What no rule
 * decides is asked of a person, where one can be asked, and is denied otherwise.
 */
import { v7 as uuid } from 'uuid';
import { copyList, type Refusal, readOptions } from '../define/options.ts';
import type { AccessRequest } from '../define/tool.ts';
import { GateError, SessionError } from '../errors.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { Permission, PermissionRequest } from '../run/context.ts';
import type { Interruption } from '../run/interruption.ts';
import { show } from '../show.ts';
import { targetMatcher } from './target-pattern.ts';

/** What a rule decides. */
export type GateDecision = 'allow' | 'deny' | 'ask';

/** One rule. Of all that match, deny beats allow beats ask, whatever their order. */
export interface GateRule {
  /** The action it is about; `*` for all. */
  readonly action: string;
  /** The targets it is about: `*` stands for anything but `/`, `**` for anything. Default: all. */
  readonly target?: string;
  readonly decision: GateDecision;
}

/** Who may do what in the sessions of a rig. */
export interface GateOptions {
  /** Default: none. */
  readonly rules?: readonly GateRule[];
  /** Whether somebody answers (`session.answer`) when a call has to ask. Default false: what must be asked is denied. */
  readonly ask?: boolean;
}

/** A person's answer to a gate. */
export type GateAnswer = { readonly decision: 'approve' } | { readonly decision: 'deny'; readonly reason?: string };

interface OpenGate {
  readonly gateId: string;
  readonly stepId: string;
  readonly callId: string;
  resolve(permission: Permission): void;
}

/** The gates of one session. */
export class GateKeeper {
  readonly #rules: readonly Rule[];
  readonly #canAsk: boolean;
  readonly #open = new Map<string, OpenGate & { readonly turnId: string }>();
  readonly #closed = new Set<string>();
  readonly #append: (entries: readonly JournalEntry[]) => Promise<void>;

  constructor(options: GateOptions | undefined, append: (entries: readonly JournalEntry[]) => Promise<void>) {
    this.#rules = resolveRules(options?.rules);
    this.#canAsk = options?.ask === true;
    this.#append = append;
  }

  /** Decides about the calls of a batch, in call order. Those that must be asked are asked together, and waited for. */
  async decide(
    turnId: string,
    interruption: Interruption,
    requests: readonly PermissionRequest[],
  ): Promise<readonly Permission[]> {
    const decisions: (Permission | Promise<Permission>)[] = [];
    const opened: JournalEntry[] = [];
    for (const request of requests) {
      const unmet = Object.freeze(request.requests.filter(access => this.#rule(access) !== 'allow'));
      const denied = unmet.find(access => this.#rule(access) === 'deny');
      if (denied !== undefined) decisions.push(deny(`a rule forbids ${named(denied)}`));
      else if (unmet.length === 0) decisions.push(ALLOWED);
      else if (!this.#canAsk) decisions.push(deny(`nothing here allows ${named(unmet[0]!)}, and nobody can be asked`));
      else decisions.push(this.#ask(turnId, request, unmet, opened));
    }
    if (opened.length > 0) await this.#record(opened);
    const off = interruption.onStop(() => void this.#closeAll(turnId, 'interrupted'));
    try {
      return await Promise.all(decisions);
    } finally {
      off();
    }
  }

  /** Takes a person's answer. Refused for a gate that is unknown or decided. */
  async answer(gateId: string, answer: GateAnswer): Promise<void> {
    const gate = this.#open.get(gateId);
    if (gate === undefined) {
      if (this.#closed.has(gateId)) throw new GateError('closed_gate', gateId, `gate ${gateId} is decided already`);
      throw new GateError('unknown_gate', gateId, `there is no open gate ${gateId} in this session`);
    }
    if (answer?.decision !== 'approve' && answer?.decision !== 'deny') {
      throw new GateError('invalid_answer', gateId, 'an answer needs a decision: "approve" or "deny"');
    }
    if (answer.decision === 'approve') return this.#resolve(gate, ALLOWED);
    const { reason } = answer;
    if (reason !== undefined && typeof reason !== 'string') {
      throw new GateError('invalid_answer', gateId, `the reason of an answer must be text, not ${show(reason)}`);
    }
    return this.#resolve(gate, deny(reason === undefined || reason.trim() === '' ? 'a person said no' : reason));
  }

  /** Records gates that open; where that fails they are none, and nobody can answer them. */
  async #record(opened: readonly JournalEntry[]): Promise<void> {
    try {
      await this.#append(opened);
    } catch (error) {
      for (const entry of opened) if (entry.type === 'gate.opened') this.#open.delete(entry.gateId);
      throw error;
    }
  }

  #ask(
    turnId: string,
    request: PermissionRequest,
    unmet: readonly AccessRequest[],
    opened: JournalEntry[],
  ): Promise<Permission> {
    const gateId = uuid();
    const { stepId, callId, toolName, summary } = request;
    const said = summary === undefined ? {} : { summary };
    opened.push({ type: 'gate.opened', turnId, stepId, gateId, callId, toolName, requests: unmet, ...said });
    return new Promise(resolve => this.#open.set(gateId, { gateId, turnId, stepId, callId, resolve }));
  }

  /** Recorded before anything depends on it; the gate is closed at once, so that a second answer is refused. */
  async #resolve(gate: OpenGate & { readonly turnId: string }, permission: Permission): Promise<void> {
    const { gateId, turnId, stepId, callId } = gate;
    this.#open.delete(gateId);
    this.#closed.add(gateId);
    const decided = permission.allowed
      ? { decision: 'approved' as const }
      : { decision: 'denied' as const, reason: permission.reason };
    try {
      await this.#append([{ type: 'gate.resolved', turnId, stepId, gateId, callId, ...decided }]);
    } catch (error) {
      gate.resolve(deny('the decision could not be recorded'));
      throw error;
    }
    gate.resolve(permission);
  }

  async #closeAll(turnId: string, reason: string): Promise<void> {
    const gates = [...this.#open.values()].filter(gate => gate.turnId === turnId);
    // The journal's failure, if there is one, ends the turn at its next append.
    await Promise.allSettled(gates.map(gate => this.#resolve(gate, deny(reason))));
  }

  #rule(access: AccessRequest): GateDecision {
    const decisions = this.#rules.filter(rule => rule.matches(access)).map(rule => rule.decision);
    if (decisions.includes('deny')) return 'deny';
    return decisions.includes('allow') ? 'allow' : 'ask';
  }
}

const ALLOWED: Permission = Object.freeze({ allowed: true });

function deny(reason: string): Permission {
  return { allowed: false, reason };
}

function named(access: AccessRequest): string {
  return `${access.action} on ${access.target}`;
}

interface Rule {
  readonly matches: (access: AccessRequest) => boolean;
  readonly decision: GateDecision;
}

export function resolveRules(rules: unknown): readonly Rule[] {
  if (rules === undefined) return [];
  const list = copyList(rules);
  if (list === undefined) throw invalid('rules', `gate.rules must be a list of rules, not ${show(rules)}`);
  return list.map(resolveRule);
}

/** An option of another name is refused: a misspelt `target` would make a rule for all targets. */
function resolveRule(rule: unknown, index: number): Rule {
  const place = `gate.rules[${index}]`;
  const { action, target, decision } = readOptions(rule, ['action', 'target', 'decision'], place, invalid);
  if (typeof action !== 'string') throw invalid('action', `${place}.action must be text, not ${show(action)}`);
  if (target !== undefined && typeof target !== 'string') {
    throw invalid('target', `${place}.target must be a pattern or absent, not ${show(target)}`);
  }
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'ask') {
    throw invalid('decision', `${place}.decision must be "allow", "deny" or "ask", not ${show(decision)}`);
  }
  const fits = target === undefined ? undefined : targetMatcher(target);
  return {
    matches: access => (action === '*' || action === access.action) && (fits?.(access.target) ?? true),
    decision,
  };
}

const invalid: Refusal = (_field, message) => new SessionError('invalid_option', message);
