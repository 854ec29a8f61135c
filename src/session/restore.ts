/** Brings a session back from its journal: the fold over its records, and an honest end for a turn that was cut short. */
import type { JournalEntry, JournalStore } from '../journal/journal.ts';
import { NO_USAGE } from '../model/model.ts';
import { errorResult } from '../run/result.ts';
import { type OpenTurn, SessionState } from './history.ts';

/** A session's state as its journal has it, and the number of the last record. */
export interface RestoredState {
  readonly state: SessionState;
  readonly lastSeq: number;
}

/** Folds a session's journal. */
export async function foldJournal(store: JournalStore, sessionId: string): Promise<RestoredState> {
  const state = new SessionState();
  let lastSeq = 0;
  for await (const record of store.read(sessionId, 1)) {
    state.apply(record);
    lastSeq = record.seq;
  }
  return { state, lastSeq };
}

/**
 * The records that end a turn which was cut short, so that the history stays valid: results that were recorded are used, a call
 * that had started says that its outcome is unknown, one that had not says that it did not run.
 */
export function endCutShort(turn: OpenTurn): JournalEntry[] {
  const entries: JournalEntry[] = [];
  const { turnId, step } = turn;
  let calls = 0;
  if (step?.message !== undefined) {
    const { stepId } = step;
    for (const part of step.message.content) {
      if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
      calls += 1;
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
  const totals = { usage: NO_USAGE, steps: 0, iterations: 0, calls };
  entries.push({ type: 'turn.interrupted', turnId, reason: 'the process ended during the turn', ...totals });
  return entries;
}
