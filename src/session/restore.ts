/** Brings a session back from its journal: the fold over its records, and an honest end for a turn that was cut short. */
import { JournalError } from '../errors.ts';
import type { JournalEntry, JournalRecord, JournalStore } from '../journal/journal.ts';
import { errorResult } from '../run/result.ts';
import { type OpenTurn, SessionState } from './history.ts';

/** A session's state as its journal has it, and the number of the last record. */
export interface RestoredState {
  readonly state: SessionState;
  readonly lastSeq: number;
}

/** Folds a session's journal. Throws `JournalError` with the position where the journal has a gap, or a record that cannot follow those before it. */
export async function foldJournal(store: JournalStore, sessionId: string): Promise<RestoredState> {
  const state = new SessionState();
  let lastSeq = 0;
  for await (const record of store.read(sessionId, 1)) {
    const { seq } = record;
    if (seq !== lastSeq + 1) throw damaged(sessionId, `record ${lastSeq + 1} is missing: ${seq} follows ${lastSeq}`);
    applyTo(state, record, sessionId);
    lastSeq = seq;
  }
  return { state, lastSeq };
}

function applyTo(state: SessionState, record: JournalRecord, sessionId: string): void {
  try {
    state.apply(record);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'it cannot be read';
    throw damaged(sessionId, `record ${record.seq} (${record.type}) cannot follow those before it: ${reason}`, cause);
  }
}

function damaged(sessionId: string, what: string, cause?: unknown): JournalError {
  return new JournalError('store_failed', `the journal of session ${sessionId} is damaged: ${what}`, { cause });
}

/**
 * The records that end a turn which was cut short, so that the history stays valid: results that were recorded are used, a call
 * that had started says that its outcome is unknown, one that had not says that it did not run.
 */
export function endCutShort(turn: OpenTurn): JournalEntry[] {
  const entries: JournalEntry[] = [];
  const { turnId, step, usage, steps, iterations, calls } = turn;
  if (step?.message !== undefined) {
    const { stepId } = step;
    for (const part of step.message.content) {
      if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
      const { toolCallId: callId, toolName } = part;
      if (step.results.has(callId)) continue;
      const started = step.started.has(callId);
      const outcome = started ? 'interrupted' : 'not_run';
      const text = started ? 'interrupted; it may or may not have taken effect' : 'not run: interrupted';
      const { output } = errorResult(text);
      entries.push({ type: 'tool.completed', turnId, stepId, callId, toolName, outcome, output, durationMs: 0 });
    }
    entries.push({ type: 'step.done', turnId, stepId });
  }
  const reason = 'the process ended during the turn';
  entries.push({ type: 'turn.interrupted', turnId, reason, usage, steps, iterations, calls });
  return entries;
}
