/**
 * The invariants of DESIGN.md, looked at after each record that the disk takes and before each effect. It knows nothing of looprig's own
 * state: what it knows is what was written.
 */
import { type AssistantMessage, isTerminal, type JournalRecord, STRUCTURED_OUTPUT_TOOL_NAME } from '../../src/index.ts';
import type { Effect, Watcher } from './disk.ts';
import type { CallPlan, Plan } from './plan.ts';

/** An invariant that does not hold. */
export class Violation extends Error {
  constructor(invariant: number, what: string) {
    super(`invariant ${invariant}: ${what}`);
  }
}

interface CallLife {
  readonly turnId: string;
  readonly stepId: string;
  isCalled: boolean;
  isStarted: boolean;
  isCompleted: boolean;
  gate: 'none' | 'open' | 'approved' | 'denied';
  effects: number;
}

interface TurnLife {
  readonly turnId: string;
  readonly iterations: number;
  readonly calls: number;
  readonly tokens: number;
  usedIterations: number;
  usedCalls: number;
  usedTokens: number;
  isBeyond: boolean;
  step: { stepId: string; callIds: readonly string[]; isCutOff: boolean; isDone: boolean } | undefined;
}

export class Watch implements Watcher {
  readonly #plan: Plan;
  readonly #calls = new Map<string, CallLife>();
  readonly #ended = new Set<string>();
  readonly #gates = new Map<string, boolean>();
  /** Calls that run, by process. */
  readonly #running = new Map<number, Map<string, Effect>>();
  #turn: TurnLife | undefined;
  #seq = 0;
  /** The first thing that was wrong. */
  violation: Violation | undefined;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  record(record: JournalRecord, life: number): void {
    this.#guarded(() => this.#record(record, life));
  }

  effect(effect: Effect): void {
    this.#guarded(() => this.#effect(effect));
  }

  /** What happens in a store or a tool is caught by the product, so it is kept. */
  #guarded(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.violation ??= error as Violation;
    }
  }

  #record(record: JournalRecord, life: number): void {
    this.#seq += 1;
    require(6, record.seq === this.#seq, `record ${record.seq} was taken where ${this.#seq} is next`);
    if (record.type === 'turn.started') {
      require(7, this.#turn === undefined, 'a turn begins while another is open');
      this.#turn = openTurn(record);
      return;
    }
    if (!('turnId' in record) || record.turnId === undefined) return;
    const { turnId } = record;
    require(7, !this.#ended.has(turnId), `${record.type} after the end of its turn`);
    const turn = this.#turn;
    if (turn === undefined || turn.turnId !== turnId)
      throw new Violation(7, `${record.type} of a turn that is not open`);
    switch (record.type) {
      case 'step.responded':
        this.#responded(turn, record);
        break;
      case 'tool.called': {
        const call = this.#call(record.callId, turnId);
        require(1, !call.isCalled, `call ${record.callId} is announced twice`);
        call.isCalled = true;
        break;
      }
      case 'gate.opened':
        require(2, this.#call(record.callId, turnId).gate === 'none', `call ${record.callId} is asked for twice`);
        this.#call(record.callId, turnId).gate = 'open';
        this.#gates.set(record.gateId, false);
        break;
      case 'gate.resolved':
        require(2, this.#gates.get(record.gateId) === false, `gate ${record.gateId} is decided, but is not open`);
        this.#gates.set(record.gateId, true);
        this.#call(record.callId, turnId).gate = record.decision;
        break;
      case 'tool.started': {
        const call = this.#call(record.callId, turnId);
        require(2, call.isCalled && !call.isStarted, `call ${record.callId} starts twice, or before it is announced`);
        require(2, call.gate === 'none' || call.gate === 'approved', `call ${record.callId} starts without permission`);
        require(5, !call.isCompleted, `call ${record.callId} starts, but has a result`);
        require(4, !turn.isBeyond, `call ${record.callId} starts beyond a limit`);
        require(4, turn.step?.isCutOff === false, `call ${record.callId} of a response that was cut off starts`);
        call.isStarted = true;
        break;
      }
      case 'tool.completed': {
        const call = this.#call(record.callId, turnId);
        require(1, !call.isCompleted, `call ${record.callId} has two results`);
        call.isCompleted = true;
        this.#running.get(life)?.delete(record.callId);
        break;
      }
      case 'step.done':
        for (const callId of turn.step?.callIds ?? []) {
          require(1, this.#calls.get(callId)?.isCompleted === true, `a step is done, but call ${callId} has no result`);
        }
        if (turn.step !== undefined) turn.step.isDone = true;
        break;
      default:
        if (!isTerminal(record as never)) break;
        this.#ended.add(turnId);
        // What was not committed was never said: a model may use its ids again.
        if (turn.step?.isDone === false) for (const callId of turn.step.callIds) this.#calls.delete(callId);
        this.#turn = undefined;
        this.#running.delete(life);
    }
  }

  #responded(
    turn: TurnLife,
    { message, stepId, usage, finishReason }: Extract<JournalRecord, { type: 'step.responded' }>,
  ): void {
    const { callIds, counted, controls } = callsOf(message);
    for (const callId of callIds) {
      require(1, !this.#calls.has(callId), `the id ${callId} of a call stands twice in the history`);
      this.#calls.set(callId, {
        ...{ turnId: turn.turnId, stepId, isCalled: false, isStarted: false, isCompleted: false },
        ...{ gate: 'none', effects: 0 },
      });
    }
    turn.step = { stepId, callIds, isCutOff: finishReason.unified === 'length', isDone: false };
    turn.usedTokens += usage.totalTokens;
    if (counted === 0 && controls < 2) return;
    turn.usedIterations += 1;
    turn.usedCalls += counted;
    turn.isBeyond =
      turn.usedIterations > turn.iterations || turn.usedCalls > turn.calls || turn.usedTokens > turn.tokens;
  }

  #call(callId: string, turnId: string): CallLife {
    const call = this.#calls.get(callId);
    if (call === undefined || call.turnId !== turnId) {
      throw new Violation(2, `something is recorded of call ${callId} before its response`);
    }
    return call;
  }

  #effect(effect: Effect): void {
    const { callId, life } = effect;
    const call = this.#calls.get(callId);
    if (call === undefined) throw new Violation(2, `call ${callId} runs before its response is recorded`);
    require(2, call.isStarted, `call ${callId} runs before its start is recorded`);
    require(2, call.gate === 'none' || call.gate === 'approved', `call ${callId} runs without permission`);
    call.effects += 1;
    const { crashes, idempotent, parallel } = this.#plan;
    require(5, idempotent || call.effects === 1, `call ${callId} runs twice`);
    // Of a process that was frozen just then, another may have answered for the call already.
    require(5, !call.isCompleted || crashes[life]?.thaws === true, `call ${callId} runs, but has a result`);
    const running = this.#running.get(life) ?? new Map<string, Effect>();
    this.#running.set(life, running);
    for (const other of running.values()) this.#requireMayMeet(effect, other);
    running.set(callId, effect);
    require(3, running.size <= parallel, `${running.size} calls run at the same time, ${parallel} may`);
    this.#requireOrder(effect, call);
  }

  #requireMayMeet(effect: Effect, other: Effect): void {
    if (effect.turn !== other.turn || effect.step !== other.step) return;
    require(3, !conflict(
      this.#planOf(effect),
      this.#planOf(other),
    ), `calls ${effect.callId} and ${other.callId} overlap`);
  }

  /** Those before it in its batch that it must not meet are over. */
  #requireOrder(effect: Effect, call: CallLife): void {
    if (this.#plan.repeats) return; // one planned call is made several times then
    const siblings = this.#turn?.step;
    if (siblings?.stepId !== call.stepId) return;
    const place = siblings.callIds.indexOf(effect.callId);
    siblings.callIds.slice(0, place).forEach((callId, index) => {
      const before = this.#plan.turns[effect.turn]?.steps[effect.step]?.calls[index];
      if (before === undefined || !conflict(this.#planOf(effect), before)) return;
      require(3, this.#calls.get(callId)?.isCompleted === true, `call ${effect.callId} overtakes ${callId}`);
    });
  }

  #planOf({ turn, step, index }: Effect): CallPlan {
    return this.#plan.turns[turn]!.steps[step]!.calls[index]!;
  }
}

function require(invariant: number, holds: boolean, what: string): void {
  if (!holds) throw new Violation(invariant, what);
}

function conflict(one: CallPlan, other: CallPlan): boolean {
  if (one.tool === 'alone' || other.tool === 'alone') return true;
  return one.tool === 'keyed' && other.tool === 'keyed' && one.key === other.key && (one.write || other.write);
}

function openTurn({ turnId, limits }: Extract<JournalRecord, { type: 'turn.started' }>): TurnLife {
  const none = Number.POSITIVE_INFINITY;
  const { iterations = none, calls = none, tokens = none } = limits;
  return {
    ...{ turnId, iterations, calls, tokens, usedIterations: 0, usedCalls: 0, usedTokens: 0 },
    ...{ isBeyond: false, step: undefined },
  };
}

function callsOf({ content }: AssistantMessage) {
  const calls = content.filter(part => part.type === 'tool-call').filter(part => part.providerExecuted !== true);
  const controls = calls.filter(({ toolName }) => toolName === STRUCTURED_OUTPUT_TOOL_NAME).length;
  return { callIds: calls.map(({ toolCallId }) => toolCallId), counted: calls.length - controls, controls };
}
