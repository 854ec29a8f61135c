import { describe, expect, it } from 'vitest';
import type { JournalEntry, JournalRecord } from '../journal/journal.ts';
import { NO_USAGE } from '../model/model.ts';
import type { SessionEvent } from './events.ts';
import { EventProjector, recordedEvents } from './projection.ts';

const inStep = { turnId: 't', stepId: 't.1' };
const finishReason = { unified: 'stop' as const, raw: 'end' };
const totals = { usage: NO_USAGE, steps: 1, iterations: 1, calls: 1 };
const said = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });

const ENTRIES: readonly JournalEntry[] = [
  { type: 'session.opened', loop: 'l', loopId: 'loop', policyRevision: 'p', mode: '' },
  { type: 'history.imported', messages: [] },
  { type: 'turn.started', turnId: 't', mode: 'm', limits: { calls: 5 }, message: said('go') },
  { type: 'input.received', inputId: 'q', as: 'turn', message: said('queued') },
  { type: 'input.received', inputId: 's', as: 'steer', message: said('steered') },
  { type: 'step.started', ...inStep, step: 1 },
  { type: 'input.steered', turnId: 't', inputId: 's' },
  { type: 'step.retrying', ...inStep, attempt: 2, delayMs: 5, reason: 'busy' },
  {
    type: 'step.responded',
    ...inStep,
    message: {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I ' },
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'look' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'a', input: { n: 1 } },
      ],
    },
    finishReason,
    usage: NO_USAGE,
  },
  { type: 'tool.called', ...inStep, callId: 'c', toolName: 'a', summary: 'looks', waitsFor: ['b'] },
  { type: 'tool.started', ...inStep, callId: 'c', toolName: 'a' },
  {
    ...{ type: 'tool.completed', ...inStep, callId: 'c', toolName: 'a', outcome: 'timed_out', durationMs: 3 },
    output: { type: 'error-text', value: 'late' },
  } as JournalEntry,
  {
    ...{ type: 'tool.completed', ...inStep, callId: 'f', toolName: '_looprig_final_output', outcome: 'done' },
    ...{ durationMs: 0, output: { type: 'text', value: 'taken' } },
  } as JournalEntry,
  { type: 'step.done', ...inStep },
  { type: 'turn.done', turnId: 't', finishReason, ...totals },
  { type: 'turn.started', turnId: 'u', mode: '', limits: {}, inputId: 'q' },
  { type: 'turn.interrupted', turnId: 'u', reason: 'enough', ...totals },
  { type: 'turn.started', turnId: 'v', mode: '', limits: {} },
  { type: 'turn.done', turnId: 'v', finishReason, text: 'by a tool', ...totals },
];
const RECORDS: readonly JournalRecord[] = ENTRIES.map((entry, index) => ({ ...entry, seq: index + 1, at: 7 }));

function project(
  records: readonly JournalRecord[],
  projector = new EventProjector('session', 'other'),
): SessionEvent[] {
  return records.flatMap(record => {
    projector.observe(record);
    return projector.project(record) ?? [];
  });
}

describe('events', () => {
  it('are completed from the records before them', () => {
    expect(project(RECORDS)).toMatchObject([
      { type: 'turn.started', seq: 3, at: 7, sessionId: 'session', loopId: 'loop', input: [{ text: 'go' }], mode: 'm' },
      { type: 'input.received', inputId: 'q', as: 'turn', input: [{ text: 'queued' }] },
      { type: 'input.received', inputId: 's', as: 'steer', input: [{ text: 'steered' }] },
      { type: 'step.started', step: 1 },
      { type: 'input.steered', turnId: 't', inputId: 's', input: [{ text: 'steered' }] },
      { type: 'step.retrying', attempt: 2 },
      { type: 'tool.called', callId: 'c', input: { n: 1 }, summary: 'looks', waitsFor: ['b'] },
      { type: 'tool.started' },
      { type: 'tool.completed', callId: 'c', outcome: 'timed_out', isError: true },
      { type: 'step.done', text: 'I look', finishReason },
      { type: 'turn.done', turnId: 't', text: 'I look' },
      { type: 'turn.started', turnId: 'u', inputId: 'q', input: [{ text: 'queued' }] },
      { type: 'turn.interrupted', turnId: 'u', text: '', reason: 'enough' },
      { type: 'turn.started', turnId: 'v', input: [] },
      { type: 'turn.done', turnId: 'v', text: 'by a tool' },
    ]);
  });

  it('are the same from a projector that begins after the context of any record', () => {
    const whole = new EventProjector('session', 'loop');
    RECORDS.forEach((record, index) => {
      whole.observe(record);
      const from = whole.contextAt(record.seq);
      expect(from).toBeLessThanOrEqual(record.seq);
      const later = project(RECORDS.slice(from), new EventProjector('session', 'loop')).filter(
        ({ seq }) => seq > record.seq,
      );
      expect(later).toEqual(project(RECORDS).filter(({ seq }) => seq > record.seq));
      if (index === 1) expect(from).toBe(record.seq); // nothing is needed of what is over
    });
  });
});

it('of a stored session the same events come, frozen', () => {
  const eventOf = recordedEvents('session');
  const events = RECORDS.flatMap(record => eventOf(record) ?? []);
  expect(events).toEqual(project(RECORDS));
  expect(events.every(event => Object.isFrozen(event))).toBe(true);
});
