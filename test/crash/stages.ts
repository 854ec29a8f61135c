/** Where in its work a session stood when a process of it was killed: read from what the journal held, and what tools had done. */
import type { JournalRecord } from 'looprig';
import type { LedgerLine } from '../support/ledger.ts';

/** All stages, as they come. A kill can be in several of them: calls run beside each other. */
export const STAGES = [
  'before the first append',
  'starting again, before the store was read',
  'starting again, before anything was written',
  'between two turns',
  'before a response',
  'between response and start',
  'at a gate',
  'between start and effect',
  'in a tool',
  'between effect and result',
  'between result and commit',
  'with inputs that wait',
  'after the end',
] as const;

export type Stage = (typeof STAGES)[number];

/** A process that was killed, and what it left. */
export interface Death {
  readonly life: number;
  /** What its journal held. */
  readonly records: readonly JournalRecord[];
  /** What had happened by then, in all lives. */
  readonly ledger: readonly LedgerLine[];
  /** How many records it found when it looked; `undefined` if it did not get so far. */
  readonly found: number | undefined;
}

/** The deaths of a session, in order. What a process left is what the next one found. */
export function deathsOf(ledger: readonly LedgerLine[], records: readonly JournalRecord[]): readonly Death[] {
  return ledger.flatMap((line, index): Death[] => {
    if (line.type !== 'death') return [];
    const { life } = line;
    const next = ledger.slice(index).find(later => later.type === 'life');
    const own = ledger.find(other => other.type === 'life' && other.life === life);
    return [
      {
        life,
        records: next?.type === 'life' ? records.slice(0, next.lastSeq) : records,
        ledger: ledger.slice(0, index),
        found: own?.type === 'life' ? own.lastSeq : undefined,
      },
    ];
  });
}

/** What the journal has of the calls of a step that is not committed. */
interface OpenStep {
  readonly isAnswered: boolean;
  readonly calls: readonly string[];
  readonly started: ReadonlySet<string>;
  readonly results: ReadonlySet<string>;
  /** Calls that wait for a person. */
  readonly gated: ReadonlySet<string>;
}

/** In which stages a process was killed. `isOver`: whether the play had come to its end. */
export function stagesOf({ records, ledger, found }: Death, isOver: boolean): readonly Stage[] {
  if (records.length === 0) return ['before the first append'];
  const stages: Stage[] = [];
  if (found === undefined) stages.push('starting again, before the store was read');
  else if (found === records.length && found > 0) stages.push('starting again, before anything was written');
  if (hasWaiting(records)) stages.push('with inputs that wait');
  if (isOver) return [...stages, 'after the end'];
  const lastTurn = records.findLastIndex(({ type }) => type === 'turn.started');
  const isOpen = !records.slice(lastTurn).some(({ type }) => /^turn\.(done|failed|interrupted)$/.test(type));
  if (lastTurn < 0 || !isOpen) return [...stages, 'between two turns'];
  return [...stages, ...stagesInTurn(openStep(records), ledger)];
}

function stagesInTurn({ isAnswered, calls, started, results, gated }: OpenStep, ledger: Death['ledger']): Stage[] {
  if (!isAnswered) return ['before a response'];
  if (gated.size > 0) return ['at a gate'];
  const did = (type: LedgerLine['type'], callId: string): boolean =>
    ledger.some(line => line.type === type && 'callId' in line && line.callId === callId);
  const unknown = calls.filter(callId => started.has(callId) && !results.has(callId));
  const found: readonly [Stage, boolean][] = [
    ['between response and start', calls.some(callId => !started.has(callId) && !results.has(callId))],
    ['between start and effect', unknown.some(callId => !did('begin', callId))],
    ['in a tool', unknown.some(callId => did('begin', callId) && !did('end', callId))],
    ['between effect and result', unknown.some(callId => did('end', callId))],
    ['between result and commit', results.size > 0],
  ];
  return found.flatMap(([stage, isIn]) => (isIn ? [stage] : []));
}

function openStep(records: readonly JournalRecord[]): OpenStep {
  const from = records.findLastIndex(({ type }) => type === 'step.started' || type === 'step.done');
  const later = from < 0 || records[from]?.type === 'step.done' ? [] : records.slice(from);
  const response = later.find(({ type }) => type === 'step.responded');
  const content = response?.type === 'step.responded' ? response.message.content : [];
  const ids = (type: JournalRecord['type']): Set<string> =>
    new Set(later.flatMap(record => (record.type === type && 'callId' in record ? [record.callId] : [])));
  return {
    isAnswered: response !== undefined,
    calls: content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : [])),
    started: ids('tool.started'),
    results: ids('tool.completed'),
    gated: without(ids('gate.opened'), ids('gate.resolved')),
  };
}

function hasWaiting(records: readonly JournalRecord[]): boolean {
  const ids = (types: readonly JournalRecord['type'][]): Set<string> =>
    new Set(
      records.flatMap(record =>
        types.includes(record.type) && 'inputId' in record && record.inputId !== undefined ? [record.inputId] : [],
      ),
    );
  return without(ids(['input.received']), ids(['turn.started', 'input.steered', 'input.cancelled'])).size > 0;
}

function without(all: ReadonlySet<string>, some: ReadonlySet<string>): Set<string> {
  return new Set([...all].filter(one => !some.has(one)));
}
