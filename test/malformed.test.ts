/**
 * Providers send what they should not. Each property holds for every response of a fuzzed model, whatever of it is missing, doubled, out
 * of order, of another kind, or cannot even be looked at. A failure prints the seed and the smallest run that shows it.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import {
  type AnyLanguageModel,
  defineLoop,
  defineRig,
  defineTool,
  isTerminal,
  type JournalRecord,
  type JournalStore,
  type Message,
  memoryStore,
  type TurnEvent,
  type TurnResult,
} from 'looprig';
import { assertPaired, collect, manualClock } from 'looprig/testing';
import { expect, it } from 'vitest';
import { type Fuzz, FuzzedModel, fuzzes, type Given, GOOD_ANSWER, readable, typeOf } from './support/fuzzed-model.ts';
import { problemWithMessages } from './support/valid-messages.ts';

/** 5,000 in all. */
const RUNS = { streamed: 3_000, whole: 1_000, older: 1_000 };
const TIME = 120_000;

/** One run of a tool, and the request whose response asked for it. */
interface Run {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly request: number;
}

/** What a fuzzed turn came to. */
interface Trace {
  readonly given: readonly Given[];
  readonly runs: readonly Run[];
  readonly result: TurnResult;
  readonly next: TurnResult;
  readonly events: readonly TurnEvent[];
  readonly history: readonly Message[];
  readonly restored: readonly Message[];
  readonly records: readonly JournalRecord[];
  /** The request that each recorded response answers, by the record's number. */
  readonly requestOf: ReadonlyMap<number, number>;
}

/** Keeps records as a disk would: as JSON. */
function jsonStore(onAppend: (record: JournalRecord) => void): JournalStore {
  const inner = memoryStore();
  return {
    append(sessionId, expectedSeq, records) {
      void inner.append(sessionId, expectedSeq, JSON.parse(JSON.stringify(records)) as JournalRecord[]);
      records.forEach(onAppend);
    },
    read: (sessionId, fromSeq) => inner.read(sessionId, fromSeq),
    list: options => inner.list(options),
    delete: (sessionId, expectedSeq) => inner.delete(sessionId, expectedSeq),
    find: sessionId => inner.find(sessionId),
    putCapture: (sessionId, bytes) => inner.putCapture(sessionId, bytes),
    getCapture: (sessionId, id) => inner.getCapture(sessionId, id),
  };
}

async function play(fuzz: Fuzz): Promise<Trace> {
  const { outputMode } = fuzz;
  const clock = manualClock();
  const model = new FuzzedModel(fuzz);
  const runs: Run[] = [];
  const requestOf = new Map<number, number>();
  const tool = (name: string, more: object = {}) =>
    defineTool({
      ...{ name, description: 'Notes what it was given.', input: { type: 'object', ...more } },
      execute(input, { callId, toolName }) {
        runs.push({ callId, toolName, input, request: model.given.length - 1 });
        return 'noted';
      },
    });
  const loop = defineLoop({
    ...{ name: 'fuzzed', model: model as unknown as AnyLanguageModel, stream: fuzz.stream },
    tools: [tool('a'), tool('unnamed'), tool('strict', { properties: { n: { type: 'integer' } }, required: ['n'] })],
    ...{ modelRetries: fuzz.retries, limits: { turnTimeoutMs: 600_000 } },
    ...(outputMode === undefined ? {} : { outputMode, output: { type: 'object', required: ['n'] } as const }),
  });
  const store = jsonStore(({ type, seq }) => {
    if (type === 'step.responded') requestOf.set(seq, model.given.length - 1);
  });
  const rig = defineRig({ loops: [loop], clock, store });
  const session = await rig.open();
  const turn = session.submit('go');
  if (fuzz.interruptAt !== undefined) clock.setTimer(() => turn.interrupt('enough'), fuzz.interruptAt);
  const { result, events } = fuzz.isWatched
    ? await clock.runUntil(collect(turn))
    : { result: await clock.runUntil(turn.result), events: [] };
  model.isHealed = true;
  const next = await clock.runUntil(session.submit('and now?').result);
  const { history } = session;
  await clock.runUntil(session.close());
  const restored = await rig.open({ sessionId: session.id });
  const records: JournalRecord[] = [];
  for await (const record of store.read(session.id, 1)) records.push(record);
  return {
    ...{ given: model.given, runs, result, next, events, history, records, requestOf },
    restored: restored.history,
  };
}

/** Why a turn may fail. A fault of our own and a broken journal are not among them. */
const FAILURES = [
  ...['request_failed', 'stream_broken', 'provider_error', 'empty_response'],
  ...['invalid_output', 'tool_limit', 'turn_timeout'],
];

/** A turn ends in one of three ways, once, and never by a fault of our own. */
function settles({ result, events, records }: Trace, { isWatched }: Fuzz): void {
  expect(['done', 'failed', 'interrupted']).toContain(result.status);
  if (result.status === 'failed') {
    expect(FAILURES).toContain(result.error.kind);
    expect(result.error.message.isWellFormed()).toBe(true);
  }
  for (const count of Object.values(result.usage)) expect(count >= 0 && Number.isFinite(count)).toBe(true);
  const ends = records.filter(({ type }) => ['turn.done', 'turn.failed', 'turn.interrupted'].includes(type));
  expect(ends).toHaveLength(2);
  expect(ends[0]?.type).toBe(`turn.${result.status}`);
  if (isWatched) expect(events.filter(isTerminal)).toHaveLength(1);
}

/** What is kept is what a provider takes, and what a journal gives back. */
function keepsValidHistory({ history, restored, next, result, given }: Trace): void {
  assertPaired(history);
  expect(problemWithMessages(history)).toBeUndefined();
  expect(JSON.stringify(restored)).toBe(JSON.stringify(history));
  expect(next).toMatchObject({ status: 'done', text: GOOD_ANSWER });
  const said = history.flatMap(({ role, content }) =>
    role === 'assistant' ? content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  );
  const sent = given.flatMap(({ parts }) => parts.map(textsOf)).join('');
  for (const text of [result.text, ...said]) {
    const [word] = /undefined|null|NaN|\[object|Symbol/.exec(text) ?? [];
    if (word !== undefined) expect(sent, 'the model said what it is shown to have said').toContain(word);
  }
}

/** What readers are told in passing is text, and all that they are told JSON can say. */
function tellsText({ events }: Trace): void {
  for (const event of events) {
    expect(JSON.stringify(event)).toContain(event.type);
    if (event.type !== 'text.delta' && event.type !== 'reasoning.delta' && event.type !== 'tool.input.delta') continue;
    expect([event.type, typeof event.text]).toEqual([event.type, 'string']);
  }
}

/** What a part says in words, or in arguments. */
function textsOf(part: unknown): string {
  const texts = ['delta', 'text'].map(field => readable(part, field)).filter(value => typeof value === 'string');
  try {
    return [...texts, JSON.stringify(readable(part, 'input'))].join('');
  } catch {
    return texts.join('');
  }
}

/** A call that ran was asked for, whole, by a response that came whole, with these very arguments. */
function runsOnlyWhatWasAsked({ runs, given, records, requestOf }: Trace): void {
  const asked = new Map<string, unknown>();
  for (const record of records) {
    if (record.type !== 'step.responded') continue;
    const calls = record.message.content.filter(part => part.type === 'tool-call' && part.providerExecuted !== true);
    const response = given[requestOf.get(record.seq) as number] as Given;
    if (record.incomplete !== undefined) {
      expect(calls, 'what is kept of a broken response holds no call').toEqual([]);
      continue;
    }
    expect(response.isWhole, 'a response that is taken came to its end').toBe(true);
    const parts = response.parts.filter(
      part => typeOf(part) === 'tool-call' && readable(part, 'providerExecuted') !== true,
    );
    expect(calls.length, 'each whole call is taken once').toBe(parts.length);
    calls.forEach((call, place) => {
      if (call.type === 'tool-call') asked.set(call.toolCallId, parts[place]);
    });
  }
  expect(new Set(runs.map(({ callId }) => callId)).size, 'no call runs twice').toBe(runs.length);
  for (const { callId, toolName, input, request } of runs) {
    const part = asked.get(callId);
    expect(part !== undefined && given[request]?.parts.includes(part), 'what runs was asked for').toBe(true);
    expect(readable(part, 'toolName')).toBe(toolName);
    const { finishReason } = given[request] as Given;
    expect([finishReason, readable(finishReason, 'unified')]).not.toContain('length');
    expect(isDeepStrictEqual(input, writtenArguments(readable(part, 'input')))).toBe(true);
  }
}

/** What a model wrote as arguments: an object, or a text that is one. Throws for anything else. */
function writtenArguments(written: unknown): unknown {
  if (written === undefined) return {};
  if (typeof written === 'string') return written.trim() === '' ? {} : JSON.parse(written);
  // Parsed already: what JSON carries of it, and nothing where JSON would lose a part of it.
  requireCarried(written);
  return JSON.parse(JSON.stringify(written), (_key, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}

/** A typed answer is what the model wrote, as a text or as the arguments of the control call. */
function answersWithWhatWasSaid({ result, given, history }: Trace): void {
  if (result.status !== 'done' || result.output === undefined) return;
  const parts = given.flatMap(response => response.parts);
  const inputs = parts.map(part => readable(part, 'input'));
  const texts = history.flatMap(({ role, content }) =>
    role === 'assistant' ? content.map(part => (part.type === 'text' ? part.text : undefined)) : [],
  );
  const said = [result.text, ...inputs, ...texts].some(written => {
    try {
      return isDeepStrictEqual(writtenArguments(written), result.output);
    } catch {
      return false;
    }
  });
  expect(said, 'the typed answer is what the model wrote').toBe(true);
}

function requireCarried(value: unknown): void {
  const isLost = ['function', 'symbol', 'bigint'].includes(typeof value) || LOST.some(kind => value instanceof kind);
  if (isLost) throw new Error('JSON loses a part of these arguments');
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) requireCarried(member);
}

const LOST = [Map, Set, Promise, Uint8Array];

const OWN = Reflect.ownKeys(Object.prototype).length;

function pollutesNothing(): void {
  expect(Reflect.ownKeys(Object.prototype)).toHaveLength(OWN);
  expect('polluted' in {}).toBe(false);
}

/** Checks every run, and that enough of them came so far that a tool ran: else nothing would have been looked at. */
async function holds(numRuns: number, arbitrary: fc.Arbitrary<Fuzz>): Promise<void> {
  let withTools = 0;
  await fc.assert(
    fc.asyncProperty(arbitrary, async fuzz => {
      const trace = await play(fuzz);
      settles(trace, fuzz);
      keepsValidHistory(trace);
      tellsText(trace);
      runsOnlyWhatWasAsked(trace);
      answersWithWhatWasSaid(trace);
      pollutesNothing();
      if (trace.runs.length > 0) withTools += 1;
    }),
    { numRuns },
  );
  expect(withTools).toBeGreaterThan(numRuns / 10);
}

it(
  'malformed streams never throw out of a turn and never run a tool with made-up arguments',
  () => holds(RUNS.streamed, fuzzes(true, 'v4')),
  TIME,
);

it(
  'malformed whole responses never throw out of a turn and never run a tool with made-up arguments',
  () => holds(RUNS.whole, fuzzes(false, 'v4')),
  TIME,
);

it(
  'malformed responses of older specifications never throw out of a turn and never run a tool with made-up arguments',
  () =>
    holds(
      RUNS.older,
      fc.boolean().chain(stream => fuzzes(stream, 'v3', 'v2')),
    ),
  TIME,
);
