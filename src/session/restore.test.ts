import { describe, expect, it } from 'vitest';
import { JournalDamagedError } from '../errors.ts';
import type { JournalEntry, JournalRecord, JournalStore } from '../journal/journal.ts';
import { memoryStore } from '../journal/memory.ts';
import type { AssistantContent, Usage } from '../model/model.ts';
import { assertPaired } from '../testing/paired.ts';
import { SessionState } from './history.ts';
import { endCutShort, foldJournal } from './restore.ts';

const usage: Usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3, cachedInputTokens: 0, reasoningTokens: 0 };
const inStep = (step: number) => ({ turnId: 't', stepId: `t.${step}` });
const finishReason = { unified: 'tool-calls' as const, raw: undefined };
const call = (toolCallId: string, more: object = {}): AssistantContent => {
  return { type: 'tool-call', toolCallId, toolName: 'a', input: {}, ...more };
};
const responded = (step: number, ...content: AssistantContent[]): JournalEntry => {
  return { type: 'step.responded', ...inStep(step), message: { role: 'assistant', content }, finishReason, usage };
};
const called = (callId: string): JournalEntry => ({ type: 'tool.called', ...inStep(2), callId, toolName: 'a' });
const started = (callId: string): JournalEntry => ({ type: 'tool.started', ...inStep(2), callId, toolName: 'a' });
const completed = (step: number, callId: string): JournalEntry => {
  const output = { type: 'text' as const, value: 'real' };
  return { type: 'tool.completed', ...inStep(step), callId, toolName: 'a', outcome: 'done', output, durationMs: 1 };
};

/** A turn of two steps, in the second of which one call is done, one runs, and one waits. */
const ENTRIES: readonly JournalEntry[] = [
  { type: 'session.opened', loop: 'l', loopId: 'i', policyRevision: 'p', mode: '' },
  { type: 'turn.started', turnId: 't', mode: '', limits: {}, message: { role: 'user', content: [] } },
  { type: 'step.started', ...inStep(1), step: 1 },
  responded(1, call('c0'), call('s', { providerExecuted: true })),
  completed(1, 'c0'),
  { type: 'step.done', ...inStep(1) },
  { type: 'step.started', ...inStep(2), step: 2 },
  responded(2, { type: 'text', text: 'on' }, call('c1'), call('c2'), call('c3')),
  ...[called('c1'), called('c2'), called('c3'), started('c1'), started('c2')],
  completed(2, 'c1'),
];
const RECORDS = numbered(ENTRIES);

function numbered(entries: readonly JournalEntry[], after = 0): JournalRecord[] {
  return entries.map((entry, index) => ({ ...entry, seq: after + index + 1, at: 0 }));
}

async function stored(records: readonly JournalRecord[]): Promise<JournalStore> {
  const store = memoryStore();
  await store.append('s', 0, records);
  return store;
}

/** A store that gives these records, whatever they are. */
function giving(records: readonly unknown[]): JournalStore {
  const inner = memoryStore();
  const read = async function* () {
    yield* records as JournalRecord[];
  };
  return { ...inner, read } as JournalStore;
}

describe('a turn that was cut short', () => {
  it('is ended: what is recorded is used, what ran is unknown, what waited did not run, and its counts are its own', async () => {
    const { state, lastSeq } = await foldJournal(await stored(RECORDS), 's');
    expect(lastSeq).toBe(RECORDS.length);
    const end = endCutShort(state, 'it ended', []);
    expect(end).toMatchObject([
      {
        type: 'tool.completed',
        callId: 'c2',
        outcome: 'interrupted',
        output: { value: 'interrupted; it may or may not have taken effect' },
      },
      { type: 'tool.completed', callId: 'c3', outcome: 'not_run', output: { value: 'not run: interrupted' } },
      { type: 'step.done', stepId: 't.2' },
      { type: 'turn.interrupted', steps: 2, iterations: 2, calls: 4, usage: { totalTokens: 6 } },
    ]);
    for (const record of numbered(end, lastSeq)) state.apply(record);
    assertPaired(state.messages);
    expect(state.messages.at(-1)?.content).toMatchObject([
      { toolCallId: 'c1', output: { value: 'real' } },
      { toolCallId: 'c2' },
      { toolCallId: 'c3' },
    ]);
    expect([state.turn, state.lastOutcome, state.canContinue]).toEqual([undefined, 'interrupted', true]);
  });

  it('leaves a valid history wherever it was cut', () => {
    for (let length = 2; length <= RECORDS.length; length++) {
      const state = new SessionState();
      for (const record of RECORDS.slice(0, length)) state.apply(record);
      for (const record of numbered(endCutShort(state, 'it ended', []), length)) state.apply(record);
      assertPaired(state.messages);
      expect(state.turn).toBeUndefined();
    }
  });

  it('before a response, or with an answer that is not committed, says no more than it knows', () => {
    const state = new SessionState();
    for (const record of numbered(ENTRIES.slice(0, 3))) state.apply(record);
    expect(endCutShort(state, 'it ended', [])).toMatchObject([{ type: 'turn.interrupted', steps: 0, calls: 0 }]);
    for (const record of numbered([responded(1, { type: 'text', text: 'all' })], 3)) state.apply(record);
    expect(endCutShort(state, 'it ended', []).map(({ type }) => type)).toEqual(['step.done', 'turn.interrupted']);
  });
});

describe('a journal', () => {
  it('of a session that is not there is an empty state', async () => {
    const { state, lastSeq } = await foldJournal(memoryStore(), 'nobody');
    expect([state.messages, lastSeq]).toEqual([[], 0]);
  });

  it.each<readonly [string, readonly JournalRecord[], string]>([
    ['with a gap', RECORDS.filter(({ seq }) => seq !== 5), 'record 5: it is missing, 6 follows 4'],
    ['without its beginning', RECORDS.slice(1), 'record 1: it is missing, 2 follows 0'],
    ['that gives a record twice', [RECORDS[0]!, RECORDS[0]!], 'record 2: it is missing, 1 follows 1'],
    [
      'with a step that is done before its calls',
      numbered([...ENTRIES, { type: 'step.done', ...inStep(2) }]),
      'record 15: step.done cannot follow those before it: step is done, but call c2 has no result',
    ],
  ])('%s is damaged, and says where', async (_, records, message) => {
    const folding = foldJournal(giving(records), 's');
    await expect(folding).rejects.toThrow(JournalDamagedError);
    await expect(folding).rejects.toThrow(`the journal of session s is damaged at ${message}`);
  });
});
