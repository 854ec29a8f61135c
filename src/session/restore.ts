/**
 * Brings a session back from its journal: the fold over its records, and of a turn that was cut short, either where it goes on or an
 * honest end.
 *
 * Owns invariant 5: a result that was recorded is used; its call never runs again.
 */
import { JournalDamagedError } from '../errors.ts';
import {
  type JournalEntry,
  type JournalRecord,
  type JournalStore,
  limitReachedFromRecord,
  requireKnown,
} from '../journal/journal.ts';
import { reasonOf } from '../reason.ts';
import { askedOf } from '../run/batch.ts';
import { errorResult } from '../run/result.ts';
import {
  type RecordedBatch,
  type RecordedResult,
  type RepeatedCall,
  type ResumePoint,
  responseFromRecord,
  type StepUnderWay,
  shownOf,
} from '../run/resume.ts';
import { MOVED_ON } from './gate.ts';
import { batchOf, type OpenStep, type OpenTurn, type RecordedGate, SessionState } from './history.ts';

/** A session's state as its journal has it, and the number of the last record. */
export interface RestoredState {
  readonly state: SessionState;
  readonly lastSeq: number;
  /** Of a turn that is unfinished: the calls that ran in each of its steps. */
  readonly ran: readonly (readonly RepeatedCall[])[];
}

/** Folds a session's journal. Throws `JournalDamagedError` with the position where the journal has a gap, or a record that cannot follow those before it. */
export async function foldJournal(store: JournalStore, sessionId: string): Promise<RestoredState> {
  const state = new SessionState();
  const trail = new Trail();
  let lastSeq = 0;
  for await (const record of store.read(sessionId, 1)) {
    const { seq } = record;
    if (seq !== lastSeq + 1)
      throw new JournalDamagedError(sessionId, lastSeq + 1, `it is missing, ${seq} follows ${lastSeq}`);
    if (record.type === 'step.done' && state.turn?.step !== undefined) trail.add(state.turn.step);
    applyTo(state, record, sessionId);
    if (state.turn === undefined) trail.clear();
    lastSeq = seq;
  }
  return { state, lastSeq, ran: trail.steps };
}

/** What a session was opened as. */
export type OpenedState = Pick<SessionState, 'loop' | 'policyRevision' | 'parent'>;

/** What a session was opened as, from the first of its records; `undefined` where the store has none. */
export async function openedState(store: JournalStore, sessionId: string): Promise<OpenedState | undefined> {
  for await (const record of store.read(sessionId, 1)) {
    const state = new SessionState();
    applyTo(state, record, sessionId);
    return state;
  }
  return undefined;
}

function applyTo(state: SessionState, record: JournalRecord, sessionId: string): void {
  requireKnown(record, sessionId);
  try {
    state.apply(record);
  } catch (cause) {
    const reason = reasonOf(cause, 'it cannot be read');
    const what = `${record.type} cannot follow those before it: ${reason}`;
    throw new JournalDamagedError(sessionId, record.seq, what, { cause });
  }
}

/** The calls of the steps of one turn, as the watch over repeats looks at them. */
class Trail {
  steps: (readonly RepeatedCall[])[] = [];

  add({ response, results }: OpenStep): void {
    if (response === undefined || results.size === 0) return;
    if (response.finishReason.unified === 'length' || batchOf(response.message) === undefined) return; // none of them ran
    const calls = responseFromRecord(response).calls.flatMap(call => {
      const result = results.get(call.callId);
      return result === undefined ? [] : [{ toolName: call.toolName, asked: askedOf(call), result: shownOf(result) }];
    });
    this.steps.push(calls);
  }

  clear(): void {
    if (this.steps.length > 0) this.steps = [];
  }
}

/** Where an unfinished turn goes on. */
export function resumePoint(turn: OpenTurn, ran: ResumePoint['ran']): ResumePoint {
  const { usage, steps, pauses, unfit, note, closing, begun, delegatedCalls } = turn;
  const underWay = turn.step === undefined || turn.step.isCommitted ? undefined : stepUnderWay(turn.step);
  const response = underWay?.response;
  const batch = response === undefined ? undefined : batchOf(response.message);
  return {
    ...{ step: begun, usage, steps, delegatedCalls, pauses, unfit, note, ran, underWay },
    iterations: turn.iterations - (batch === undefined ? 0 : 1),
    calls: turn.calls - (batch ?? 0),
    closing: closing && limitReachedFromRecord(closing),
    text: response?.text ?? '',
  };
}

function stepUnderWay({ stepId, response, isAnnounced, started, results }: OpenStep): StepUnderWay {
  const recorded = [...results].map(
    ([callId, { outcome, output, endTurn, resultDigest }]): [string, RecordedResult] => {
      const digest = resultDigest === undefined ? {} : { resultDigest };
      return [callId, { outcome, output, endTurn: endTurn === true, ...digest }];
    },
  );
  const batch: RecordedBatch = { isAnnounced, started, results: new Map(recorded) };
  return { stepId, response: response && responseFromRecord(response), batch };
}

/**
 * The records that end a turn which was cut short, so that the history stays valid: results that were recorded are used, a call
 * that had started says that its outcome is unknown, one that had not says that it did not run. `gates` are those that are open: they are closed.
 */
export function endCutShort({ turn }: SessionState, reason: string, gates: readonly RecordedGate[]): JournalEntry[] {
  if (turn === undefined) return [];
  const { turnId, step, usage, steps, iterations, calls } = turn;
  const entries: JournalEntry[] = [];
  for (const { opened } of gates) {
    const { stepId, gateId, callId } = opened;
    entries.push({ type: 'gate.resolved', turnId, stepId, gateId, callId, decision: 'denied', reason: MOVED_ON });
  }
  if (step?.response !== undefined && !step.isCommitted) {
    const waited = new Set(gates.map(({ opened }) => opened.callId));
    entries.push(...answersFor(turnId, step, waited));
    entries.push({ type: 'step.done', turnId, stepId: step.stepId });
  }
  entries.push({ type: 'turn.interrupted', turnId, reason, usage, steps, iterations, calls });
  return entries;
}

function answersFor(turnId: string, step: OpenStep, waited: ReadonlySet<string>): JournalEntry[] {
  const { stepId, response, started, results } = step;
  return responseFromRecord(response!).calls.flatMap(({ callId, toolName }): JournalEntry[] => {
    if (results.has(callId)) return [];
    const [outcome, text] = started.has(callId)
      ? (['interrupted', 'interrupted; it may or may not have taken effect'] as const)
      : waited.has(callId)
        ? (['denied', `permission denied: ${MOVED_ON}`] as const)
        : (['not_run', 'not run: interrupted'] as const);
    const { output } = errorResult(text);
    return [{ type: 'tool.completed', turnId, stepId, callId, toolName, outcome, output, durationMs: 0 }];
  });
}

/** Why a turn ended that another process left unfinished. */
export const PROCESS_ENDED = 'the process ended during the turn';
