/** What must be true of a session whatever happened to its processes: the journal against the ledger, and both against a run that nobody killed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalRecord, Message } from 'looprig';
import { assertPaired } from 'looprig/testing';
import type { LedgerLine } from '../support/ledger.ts';
import { problemWithMessages } from '../support/valid-messages.ts';
import { NEVER_MIND, NOTED, type Play } from './plays.ts';
import type { Remains } from './remains.ts';
import { deathsOf } from './stages.ts';
import { effectFiles, isRepeatable } from './tools.ts';

type Effect = Extract<LedgerLine, { readonly type: 'begin' | 'end' }>;
type Of<Type extends JournalRecord['type']> = Extract<JournalRecord, { readonly type: Type }>;

/** What a call that was cut off says of itself. */
const UNKNOWN = 'may or may not have taken effect';

/**
 * All that is wrong; `reference` is what the same play left where nobody was killed, `unknown` are the calls that nobody can know the
 * outcome of.
 */
export function problemsWith(
  play: Play,
  remains: Remains,
  reference: Remains,
  folder: string,
  unknown = unknownCalls(remains),
): readonly string[] {
  const { records, history, ledger, lostCaptures } = remains;
  return [
    ...problemsWithRuns(records, ledger),
    ...problemsWithResults(records, ledger, unknown, folder),
    ...problemsWithRecords(records, reference.records),
    ...problemsWithGates(records, reference.records),
    ...problemsWithInputs(play, records, history),
    ...problemsWithHistory(play, history, reference.history, unknown),
    ...lostCaptures.map(id => `the large result ${id} is lost`),
  ];
}

/** All that is wrong where people moved on instead of taking up turns: these ended in the middle, and the rest of the play differs. */
export function problemsWhereMovedOn(play: Play, remains: Remains, folder: string): readonly string[] {
  const { records, history, ledger, lostCaptures } = remains;
  const unknown = interruptedCalls(remains);
  const [least, most] = [unknownCalls(remains), unknownCalls(remains, () => true)];
  const wrong = [...least]
    .filter(callId => !unknown.has(callId))
    .concat([...unknown].filter(callId => !most.has(callId)));
  return [
    ...problemsWithRuns(records, ledger),
    ...problemsWithResults(records, ledger, unknown, folder),
    ...wrong.map(callId => `call ${callId} is unknown where it is not, or known where it is not`),
    ...recordedTwice(records),
    ...problemsWithPermissions(records),
    ...problemsWithInputs(play, records, history),
    ...problemsInMessages(history),
    ...lostCaptures.map(id => `the large result ${id} is lost`),
  ];
}

/** No finished call runs again, what must not be repeated is not, and nothing runs whose start is not recorded. */
function problemsWithRuns(records: readonly JournalRecord[], ledger: readonly LedgerLine[]): string[] {
  const problems: string[] = [];
  const found = new Map(ledger.flatMap(line => (line.type === 'life' ? [[line.life, line.lastSeq]] : [])));
  const completed = new Map(of(records, 'tool.completed').map(({ callId, seq }) => [callId, seq]));
  for (const [callId, begins] of effectsByCall(ledger, 'begin')) {
    const lives = begins.map(({ life }) => life);
    const [{ toolName, input }] = begins as [Effect];
    if (new Set(lives).size < lives.length) problems.push(`call ${callId} ran twice in one process: lives ${lives}`);
    if (!isRepeatable(toolName) && lives.length > 1) problems.push(`call ${callId} ran again in lives ${lives}`);
    for (const life of lives) {
      if ((completed.get(callId) ?? Number.POSITIVE_INFINITY) > (found.get(life) ?? 0)) continue;
      problems.push(`call ${callId} ran in life ${life}, which had found its result`);
    }
    if (begins.some(begin => JSON.stringify(begin.input) !== JSON.stringify(input))) {
      problems.push(`call ${callId} ran with other arguments than before: ${JSON.stringify(begins)}`);
    }
  }
  for (const { life, ledger: done, records: held } of deathsOf(ledger, records)) {
    const started = new Set(of(held, 'tool.started').map(({ callId }) => callId));
    for (const callId of effectsByCall(done, 'begin').keys()) {
      if (!started.has(callId)) problems.push(`call ${callId} had begun when life ${life} ended, without its start`);
    }
  }
  return problems;
}

/** Each result says what is known, and no more: what ran to its end, what is unknown, what never began. */
function problemsWithResults(
  records: readonly JournalRecord[],
  ledger: readonly LedgerLine[],
  unknown: ReadonlySet<string>,
  folder: string,
): string[] {
  const problems: string[] = [];
  const [begins, ends] = [effectsByCall(ledger, 'begin'), effectsByCall(ledger, 'end')];
  const effects = readText(effectFiles(folder).log).split('\n').slice(0, -1);
  if (new Set(effects).size < effects.length) problems.push(`an effect happened twice: ${effects.join(' ')}`);
  for (const { callId, toolName, outcome, output } of of(records, 'tool.completed')) {
    const say = (what: string): void => void problems.push(`call ${callId} (${outcome}) ${what}`);
    const text = JSON.stringify(output);
    if (unknown.has(callId) !== (outcome === 'interrupted'))
      say('is unknown where it is not, or known where it is not');
    if (unknown.has(callId) !== text.includes(UNKNOWN)) say(`says ${text}`);
    const isOurs = toolName !== 'read_tool_result' && (outcome === 'done' || outcome === 'failed');
    if (isOurs && (!begins.has(callId) || !ends.has(callId))) say('has a result, but did not run to its end');
    if ((outcome === 'denied' || outcome === 'refused' || outcome === 'not_run') && begins.has(callId)) say('ran');
    if (!isOurs) continue;
    const input = JSON.stringify(ends.get(callId)?.at(-1)?.input);
    if (!isRepeatable(toolName) && !effects.includes(callId)) say('left no effect');
    if (isRepeatable(toolName) && readText(join(effectFiles(folder).out, callId)) !== input) say('left another effect');
    if (outcome === 'done' && !text.includes(JSON.stringify(input).slice(1, -1)))
      say(`does not say what it did: ${text}`);
  }
  return problems;
}

/** Calls that had started when a process ended, without a result, and that must not run again. */
function unknownCalls({ ledger, records: all }: Remains, isMeant = mustNotRepeat): ReadonlySet<string> {
  return new Set(
    deathsOf(ledger, all).flatMap(({ records }) => {
      const completed = new Set(of(records, 'tool.completed').map(({ callId }) => callId));
      return of(records, 'tool.started').flatMap(({ callId, toolName }) =>
        !completed.has(callId) && isMeant(toolName) ? [callId] : [],
      );
    }),
  );
}

function mustNotRepeat(toolName: string): boolean {
  return !isRepeatable(toolName) && toolName !== 'read_tool_result';
}

/** Calls whose results say that they were cut off: all that can be known where processes do not end before others take over. */
export function interruptedCalls({ records }: Remains): ReadonlySet<string> {
  const cut = of(records, 'tool.completed').filter(({ outcome }) => outcome === 'interrupted');
  return new Set(cut.map(({ callId }) => callId));
}

/** Everything is recorded once, each turn ends once, and its figures are those of a run without a crash. */
function problemsWithRecords(records: readonly JournalRecord[], reference: readonly JournalRecord[]): string[] {
  const open = of(records, 'turn.started')
    .filter(({ turnId }) => !of(records, 'turn.done').some(done => done.turnId === turnId))
    .map(({ turnId }) => `turn ${turnId} is not done`);
  const [figures, expected] = [figuresByInput(records), figuresByInput(reference)];
  const wrong = [...expected].flatMap(([text, figure]) =>
    figures.get(text) === figure ? [] : [`the turn "${text}" has ${figures.get(text)}, without a crash ${figure}`],
  );
  return [...recordedTwice(records), ...open, ...wrong];
}

function recordedTwice(records: readonly JournalRecord[]): string[] {
  const keys = records.flatMap(record => {
    const { type } = record;
    if ('callId' in record) return [`${type} of call ${record.callId}`];
    if (type === 'step.started' || type === 'step.responded' || type === 'step.done')
      return [`${type} ${record.stepId}`];
    if (/^turn\.(done|failed|interrupted)$/.test(type) && 'turnId' in record) return [`end of turn ${record.turnId}`];
    return type === 'turn.started' ? [`start of turn ${record.turnId}`] : [];
  });
  return keys.filter((key, index) => keys.indexOf(key) < index).map(key => `recorded twice: ${key}`);
}

function figuresByInput(records: readonly JournalRecord[]): ReadonlyMap<string, string> {
  const received = new Map(of(records, 'input.received').map(({ inputId, message }) => [inputId, textOf(message)]));
  const texts = of(records, 'turn.started').map(({ turnId, message, inputId = '' }): [string, string] => {
    return [turnId, message === undefined ? (received.get(inputId) ?? '') : textOf(message)];
  });
  const byTurn = new Map(texts);
  return new Map(
    of(records, 'turn.done').map(({ turnId, steps, iterations, calls, usage, limited }) => {
      return [byTurn.get(turnId) ?? '', JSON.stringify({ steps, iterations, calls, usage, limited })];
    }),
  );
}

/** Each gate is opened and answered once, as without a crash, and before what it allows. */
function problemsWithGates(records: readonly JournalRecord[], reference: readonly JournalRecord[]): string[] {
  const decided = (all: readonly JournalRecord[]): string[] =>
    of(all, 'gate.resolved')
      .map(({ callId, decision, input, rules }) => JSON.stringify([callId, decision, input, rules]))
      .sort();
  const [found, expected] = [decided(records).join(), decided(reference).join()];
  const wrong = found === expected ? [] : [`gates were answered with ${found}, without a crash ${expected}`];
  return [...wrong, ...problemsWithPermissions(records)];
}

function problemsWithPermissions(records: readonly JournalRecord[]): string[] {
  const problems: string[] = [];
  const started = new Map(of(records, 'tool.started').map(({ callId, seq }) => [callId, seq]));
  const opened = new Map(of(records, 'gate.opened').map(({ callId, gateId }) => [callId, gateId]));
  const resolved = new Set(of(records, 'gate.resolved').map(({ gateId }) => gateId));
  for (const gateId of opened.values()) if (!resolved.has(gateId)) problems.push(`gate ${gateId} is still open`);
  for (const { callId, gateId, decision, seq } of of(records, 'gate.resolved')) {
    if (opened.get(callId) !== gateId) problems.push(`gate ${gateId} of call ${callId} was never opened`);
    const start = started.get(callId);
    if (start !== undefined && (decision === 'denied' || start < seq)) {
      problems.push(`call ${callId} started without its permission`);
    }
  }
  return problems;
}

/** Each input is in the history once, and those that waited ran in their order. */
function problemsWithInputs(play: Play, records: readonly JournalRecord[], history: readonly Message[]): string[] {
  const steers = (play.steers ?? []).map(({ text }) => text);
  const said = history
    .flatMap(message => (message.role === 'user' ? [textOf(message)] : []))
    .filter(text => !text.startsWith(NEVER_MIND));
  const [asked, steered] = [said.filter(text => !steers.includes(text)), said.filter(text => steers.includes(text))];
  const problems: string[] = [];
  if (asked.join() !== play.inputs.flat().join()) problems.push(`the inputs became ${asked.join()}`);
  if (steered.toSorted().join() !== steers.toSorted().join()) problems.push(`the steers became ${steered.join()}`);
  const received = of(records, 'input.received').filter(input => input.as === 'turn');
  const started = of(records, 'turn.started').map(({ inputId }) => inputId);
  const places = received.map(({ inputId }) => started.indexOf(inputId));
  if (places.some((place, index) => place < (places[index - 1] ?? 0)))
    problems.push('inputs that waited changed order');
  return problems;
}

/** The history is valid, and says what it says without a crash; of calls whose outcome is unknown it says so. */
function problemsWithHistory(
  play: Play,
  history: readonly Message[],
  reference: readonly Message[],
  unknown: ReadonlySet<string>,
): string[] {
  const problems = problemsInMessages(history);
  const [found, expected] = [comparable(play, history, unknown), comparable(play, reference, unknown)];
  const place = expected.findIndex((line, index) => line !== found[index]);
  if (place >= 0 || found.length !== expected.length) {
    problems.push(`message ${place} of the history is ${found[place]}, without a crash ${expected[place]}`);
  }
  return problems;
}

function problemsInMessages(history: readonly Message[]): string[] {
  const invalid = problemWithMessages(history);
  const problems = invalid === undefined ? [] : [invalid];
  try {
    assertPaired(history);
  } catch (error) {
    problems.push(String(error));
  }
  return problems;
}

/** A history without what a crash may change: results that are unknown, and where what steers a turn went in. */
function comparable(play: Play, history: readonly Message[], unknown: ReadonlySet<string>): string[] {
  const steers = new Set((play.steers ?? []).map(({ text }) => text));
  return history.flatMap(message => {
    if (message.role === 'user' && steers.has(textOf(message))) return [];
    if (message.role === 'assistant' && textOf(message) === NOTED) return [];
    if (message.role !== 'tool') return [JSON.stringify(message)];
    const content = message.content.map(part =>
      part.type === 'tool-result' && unknown.has(part.toolCallId) ? part.toolCallId : part,
    );
    return [JSON.stringify(content)];
  });
}

function effectsByCall(ledger: readonly LedgerLine[], type: Effect['type']): ReadonlyMap<string, readonly Effect[]> {
  const effects = ledger.filter((line): line is Effect => line.type === type);
  return Map.groupBy(effects, ({ callId }) => callId);
}

function of<Type extends JournalRecord['type']>(records: readonly JournalRecord[], type: Type): Of<Type>[] {
  return records.filter((record): record is Of<Type> => record.type === type);
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('');
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
