/**
 * The gates of one session: questions to a person whether a call may do what it wants. A gate stands in the journal, so that the process
 * that asks need not be the one that is answered; a decision is recorded before anything depends on it, and is used by its own call alone.
 */
import type { Clock, TimerHandle } from '../clock.ts';
import { decisionOf, type GateDecision, type GateRule, type ResolvedRule, resolveRules } from '../define/gate.ts';
import type { AccessRequest } from '../define/tool.ts';
import { GateError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import { newId } from '../ids.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { JSONValue } from '../model/model.ts';
import type { Permission, PermissionRequest } from '../run/context.ts';
import type { Interruption } from '../run/interruption.ts';
import { show } from '../show.ts';
import { type GateAnswer, readAnswer } from './gate-answer.ts';
import { type GateOptions, invalidGate, resolveGate } from './gate-options.ts';
import type { RecordedGate } from './history.ts';

/** A gate that waits for its answer. */
export interface PendingGate {
  /** What `session.answer` takes. */
  readonly gateId: string;
  /** The turn that waits. */
  readonly turnId: string;
  /** The call that waits at it. */
  readonly callId: string;
  /** The tool that is called. */
  readonly toolName: string;
  /** What the call wants and no rule allows. */
  readonly requests: readonly AccessRequest[];
  /** The tool's line about the call, for people. */
  readonly summary?: string;
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number;
}

/** What is said of the gates of a turn that the user left for another input. */
export const MOVED_ON = 'the user moved on';

/** What the gates of a session live on. */
export interface GateParts {
  readonly options: GateOptions | undefined;
  /** The rules of the loop. */
  readonly loopRules: readonly ResolvedRule[];
  readonly clock: Clock;
  append(entries: readonly JournalEntry[]): Promise<void>;
  /** Told when the turn begins to wait for a person. */
  waits(): void;
  /** What the journal has of gates; a fold that grows with it. */
  readonly state: {
    readonly gates: ReadonlyMap<string, RecordedGate>;
    readonly decidedGates: ReadonlySet<string>;
    readonly rules: readonly GateRule[];
  };
  /** Why other arguments for a call cannot be taken, or what they ask for. */
  checkEdit(
    toolName: string,
    input: JSONValue,
  ): Promise<{ readonly problem: string } | { readonly access: readonly AccessRequest[] }>;
}

export class GateKeeper {
  readonly #parts: GateParts;
  readonly #canAsk: boolean;
  readonly #timeoutMs: number;
  readonly #fixedRules: readonly ResolvedRule[];
  /** The rules that people made in this session, as far as they are ready for use. */
  #madeRules: readonly ResolvedRule[] = [];
  /** Who waits for a gate, by its id. */
  readonly #waiting = new Map<string, (permission: Permission) => void>();
  /** Gates that are decided, or whose decision is on its way to the journal: whoever claims a gate first decides it. */
  readonly #claimed = new Set<string>();

  constructor(parts: GateParts) {
    const { rules, ask, gateTimeoutMs } = resolveGate(parts.options);
    this.#parts = parts;
    this.#canAsk = ask;
    this.#timeoutMs = gateTimeoutMs;
    this.#fixedRules = [...parts.loopRules, ...rules];
  }

  /** The gates that wait for an answer. */
  get pending(): readonly PendingGate[] {
    return [...this.#parts.state.gates.values()]
      .filter(({ opened, resolved }) => resolved === undefined && !this.#claimed.has(opened.gateId))
      .map(({ opened: { gateId, turnId, callId, toolName, requests, summary, at } }) => {
        const said = summary === undefined ? {} : { summary };
        return Object.freeze({ gateId, turnId, callId, toolName, requests, ...said, openedAt: at });
      });
  }

  /** Whether the running turn waits for a person. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Decides about the calls of a batch, in call order. Those that must be asked are asked together, and waited for. */
  async decide(
    turnId: string,
    interruption: Interruption,
    requests: readonly PermissionRequest[],
  ): Promise<readonly Permission[]> {
    const opened: JournalEntry[] = [];
    const decisions = requests.map(request => this.#decideOne(turnId, request, opened));
    if (opened.length > 0) await this.#record(opened);
    if (this.isWaiting) this.#parts.waits();
    const off = interruption.onStop(cause => {
      const movedOn = cause.kind === 'interrupted' && cause.reason === MOVED_ON;
      void this.#closeAll(movedOn ? deny(MOVED_ON) : { ...deny('interrupted'), isInterrupted: true });
    });
    const stopTimers = this.#startTimers();
    try {
      return await Promise.all(decisions);
    } finally {
      off();
      stopTimers();
    }
  }

  /** Takes all gates that are open out of everybody's hands, for whoever records that they are closed. */
  claimAll(): readonly RecordedGate[] {
    const { gates } = this.#parts.state;
    const open = [...gates.values()].filter(
      gate => gate.resolved === undefined && !this.#claimed.has(gate.opened.gateId),
    );
    for (const { opened } of open) this.#claimed.add(opened.gateId);
    return open;
  }

  /** Closes the gates of calls that cannot be made any more. */
  async withdraw(callIds: readonly string[]): Promise<void> {
    const gates = callIds.flatMap(callId => this.#parts.state.gates.get(callId) ?? []);
    const open = gates.filter(({ opened, resolved }) => resolved === undefined && !this.#claimed.has(opened.gateId));
    await Promise.all(open.map(gate => this.#resolve(gate, deny('the call cannot be made any more'))));
  }

  /** Takes a person's answer. Refused for a gate that is unknown, decided or expired, and for an answer that is none. */
  async answer(gateId: string, given: GateAnswer): Promise<void> {
    const gate = this.#openGate(gateId);
    const answer = readAnswer(gateId, given, gate.opened.requests);
    if (this.#msLeft(gate) <= 0) {
      await this.#resolve(gate, this.#expired());
      throw this.#closed(gateId, `waited longer than ${this.#timeoutMs} ms`);
    }
    if (answer.decision === 'denied') return this.#resolveOrRefuse(gate, deny(answer.reason));
    const { input, rules } = answer;
    if (input === undefined) await this.#resolveOrRefuse(gate, ALLOWED, rules);
    else {
      await this.#requireFit(gate, input);
      await this.#resolveOrRefuse(gate, deepFreeze({ allowed: true, input }));
    }
    if (rules.length > 0) await this.#approveAllowed();
  }

  /** Looks at an answer as `answer` would, and decides nothing. */
  async check(gateId: string, given: GateAnswer): Promise<void> {
    const gate = this.#openGate(gateId);
    const answer = readAnswer(gateId, given, gate.opened.requests);
    if (this.#msLeft(gate) <= 0) throw this.#closed(gateId, `waited longer than ${this.#timeoutMs} ms`);
    if (answer.decision === 'approved' && answer.input !== undefined) await this.#requireFit(gate, answer.input);
  }

  #openGate(gateId: string): RecordedGate {
    const gate = [...this.#parts.state.gates.values()].find(({ opened }) => opened.gateId === gateId);
    const isDecided = gate?.resolved !== undefined || this.#parts.state.decidedGates.has(gateId);
    if (isDecided || this.#claimed.has(gateId)) throw this.#closed(gateId, 'is decided already');
    if (gate === undefined) {
      throw new GateError('unknown_gate', gateId, `there is no open gate ${show(gateId)} in this session`);
    }
    return gate;
  }

  #closed(gateId: string, why: string): GateError {
    return new GateError('closed_gate', gateId, `gate ${show(gateId)} ${why}`);
  }

  async #requireFit({ opened: { gateId, toolName } }: RecordedGate, input: JSONValue): Promise<void> {
    const checked = await this.#parts.checkEdit(toolName, input);
    const problem = 'problem' in checked ? checked.problem : this.forbids(checked.access);
    if (problem !== undefined)
      throw new GateError('invalid_answer', gateId, `these arguments cannot be taken: ${problem}`);
  }

  async #resolveOrRefuse(gate: RecordedGate, permission: Permission, rules: readonly GateRule[] = []): Promise<void> {
    const { gateId } = gate.opened;
    if (this.#claimed.has(gateId)) throw this.#closed(gateId, 'is decided already');
    await this.#resolve(gate, permission, rules);
  }

  /** Why a rule forbids what a call wants, if one does. */
  forbids(access: readonly AccessRequest[]): string | undefined {
    const denied = access.find(one => this.#rule(one) === 'deny');
    return denied && `a rule forbids ${named(denied)}`;
  }

  #decideOne(turnId: string, request: PermissionRequest, opened: JournalEntry[]): Permission | Promise<Permission> {
    const forbidden = this.forbids(request.requests);
    const known = this.#parts.state.gates.get(request.callId);
    const decided = known && this.#decideKnown(known, request.requests, forbidden);
    if (decided !== undefined) return decided;
    if (forbidden !== undefined) return deny(forbidden);
    const unmet = Object.freeze(request.requests.filter(access => this.#rule(access) !== 'allow'));
    if (unmet.length === 0) return ALLOWED;
    if (!this.#canAsk) return deny(`nothing here allows ${named(unmet[0]!)}, and nobody can be asked`);
    const gateId = newId();
    const { stepId, callId, toolName, summary } = request;
    const said = summary === undefined ? {} : { summary };
    opened.push({ type: 'gate.opened', turnId, stepId, gateId, callId, toolName, requests: unmet, ...said });
    return this.#wait(gateId);
  }

  /**
   * A question that was asked stands, whatever the rules say by now; but what a rule forbids does not happen, and an approval is for what
   * was shown: `undefined` where the call wants more by now. Arguments that a person gave are looked at when they are put in.
   */
  #decideKnown(
    { opened, resolved }: RecordedGate,
    requests: readonly AccessRequest[],
    forbidden: string | undefined,
  ): Permission | Promise<Permission> | undefined {
    if (resolved === undefined) return this.#wait(opened.gateId);
    if (resolved.decision === 'denied') return deny(resolved.reason ?? 'a person said no');
    if (resolved.input !== undefined) return { allowed: true, input: resolved.input };
    if (forbidden !== undefined) return deny(forbidden);
    const wasShown = (access: AccessRequest): boolean =>
      opened.requests.some(shown => shown.action === access.action && shown.target === access.target);
    const isCovered = requests.every(access => wasShown(access) || this.#rule(access) === 'allow');
    return isCovered ? ALLOWED : undefined;
  }

  #wait(gateId: string): Promise<Permission> {
    return new Promise(resolve => this.#waiting.set(gateId, resolve));
  }

  /** Records gates that open; where that fails they are none, and nobody can answer them. */
  async #record(opened: readonly JournalEntry[]): Promise<void> {
    try {
      await this.#parts.append(opened);
    } catch (error) {
      this.#waiting.clear();
      throw error;
    }
  }

  /** Denies the calls that nobody answers for in time. Gives a function that stops the waiting. */
  #startTimers(): () => void {
    if (this.#timeoutMs === Number.POSITIVE_INFINITY) return () => {};
    const { clock } = this.#parts;
    let timer: TimerHandle | undefined;
    const wait = (): void => {
      const gates = this.#open();
      if (gates.length === 0) return;
      const left = Math.min(...gates.map(gate => this.#msLeft(gate)));
      timer = clock.setTimer(expire, Math.max(0, left));
    };
    const expire = (): void => {
      for (const gate of this.#open()) {
        // The journal's failure, if there is one, ends the turn at its next append.
        if (this.#msLeft(gate) <= 0) this.#resolve(gate, this.#expired()).catch(() => {});
      }
      wait(); // a platform's timer may end before its time
    };
    wait();
    return () => void (timer !== undefined && clock.clearTimer(timer));
  }

  #msLeft({ opened }: RecordedGate): number {
    return opened.at + this.#timeoutMs - this.#parts.clock.now();
  }

  #expired(): Permission {
    return deny(`nobody answered in ${this.#timeoutMs} ms`);
  }

  /** The gates that the running turn waits for, and that nobody decides right now. */
  #open(): RecordedGate[] {
    return [...this.#parts.state.gates.values()].filter(
      ({ opened: { gateId }, resolved }) =>
        resolved === undefined && this.#waiting.has(gateId) && !this.#claimed.has(gateId),
    );
  }

  /** Recorded before anything depends on it. */
  async #resolve({ opened }: RecordedGate, permission: Permission, rules: readonly GateRule[] = []): Promise<void> {
    const { gateId, turnId, stepId, callId } = opened;
    const decided = permission.allowed
      ? {
          decision: 'approved' as const,
          ...(permission.input === undefined ? {} : { input: permission.input }),
          ...(rules.length === 0 ? {} : { rules }),
        }
      : { decision: 'denied' as const, reason: permission.reason };
    this.#claimed.add(gateId);
    try {
      await this.#parts.append([{ type: 'gate.resolved', turnId, stepId, gateId, callId, ...decided }]);
    } catch (error) {
      this.#tell(gateId, deny('the decision could not be recorded'));
      throw error;
    }
    this.#tell(gateId, permission);
  }

  /** Tells who waits for the gate by now: a turn that is resumed may have come while the decision was written. */
  #tell(gateId: string, permission: Permission): void {
    const tell = this.#waiting.get(gateId);
    this.#waiting.delete(gateId);
    tell?.(permission);
  }

  async #closeAll(permission: Permission): Promise<void> {
    // The journal's failure, if there is one, ends the turn at its next append.
    await Promise.allSettled(this.#open().map(gate => this.#resolve(gate, permission)));
  }

  /** What a person allowed for one call may be all that another one waits for. */
  async #approveAllowed(): Promise<void> {
    const met = this.#open().filter(({ opened }) => opened.requests.every(one => this.#rule(one) === 'allow'));
    await Promise.all(met.map(gate => this.#resolve(gate, ALLOWED)));
  }

  #rule(access: AccessRequest): GateDecision {
    const { rules } = this.#parts.state;
    if (this.#madeRules.length !== rules.length) this.#madeRules = resolveRules(rules, 'rules', invalidGate);
    return decisionOf([...this.#fixedRules, ...this.#madeRules], access);
  }
}

const ALLOWED: Permission = Object.freeze({ allowed: true });

function deny(reason: string): Extract<Permission, { allowed: false }> {
  return { allowed: false, reason };
}

function named(access: AccessRequest): string {
  return `${access.action} on ${access.target}`;
}
