/** Plays recordings against a server that breaks some of their responses, and says what must hold whatever was broken. */
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type Message, ModelError, type TurnEvent } from 'looprig';
import { assertPaired, type RecordedResponse, type Recording, recordedTools } from 'looprig/testing';
import { expect } from 'vitest';
import { exchanges, readRecording, recordings } from '../exchanges/read.ts';
import { expectValidRequest } from './broken-requests.ts';
import { type Answer, failing, serveAnswers, whole } from './broken-server.ts';
import type { Generation } from './packages.ts';
import { openRecording, type PlayedTurn } from './play.ts';
import { recordedInputs } from './requests.ts';

/** All recordings of real providers; where there are none, the exchanges written by hand. */
export const SUBJECTS: readonly Recording[] =
  recordings.length > 0
    ? recordings.map(([, file]) => readRecording(file))
    : ['anthropic-messages', 'gemini', 'openai-chat', 'openai-responses'].map(name => streamed(exchanges(name)));

/** A recording with some whole responses and some streams, as streams all: Gemini's chunks look like its whole responses. */
function streamed(recording: Recording): Recording {
  const isMixed = new Set(recording.exchanges.map(({ response }) => response.sse === undefined)).size > 1;
  if (!isMixed) return recording;
  return {
    ...recording,
    exchanges: recording.exchanges.map(({ request, response }) => ({ request, response: asStream(response) })),
  };
}

function asStream(response: RecordedResponse): RecordedResponse {
  if (response.sse !== undefined) return response;
  const headers = { 'content-type': 'text/event-stream' };
  return { status: response.status, headers, sse: `data: ${JSON.stringify(response.body)}\n\n` };
}

/** What the user says in the turn that shows that a session still works. */
const NEXT = 'And now?';

/** An error body that every provider package reads the message of. */
export function problem(message: string): object {
  return { type: 'error', error: { type: 'invalid_request_error', code: 400, status: 'REPLAY', message } };
}

/** What to break: an answer in the place of the recorded one, or `undefined` for that. `attempt` counts from 1. */
type Damage = (index: number, attempt: number, recorded: RecordedResponse) => Answer | undefined;

/** How a recording went. */
export interface Outcome {
  readonly turns: readonly PlayedTurn[];
  readonly history: readonly Message[];
  /** How often each exchange was asked for, the whole response included. */
  readonly asked: readonly number[];
}

export interface PlayBroken {
  readonly damage?: Damage;
  readonly modelRetries?: number;
  /** Ends after the first turn that failed by damage, and one more that shows that the session still works. Default: plays all exchanges. */
  readonly untilFailure?: boolean;
  /** A broken response may be whole enough to be taken: then the next request asks for more, and gets the next exchange. */
  readonly mayPass?: boolean;
  /** Which packages ask. Default: those of AI SDK 7. */
  readonly generation?: Generation;
}

/**
 * Plays a recording to the end of its last exchange. An exchange is asked for again until its recorded response was sent; what is
 * asked for after the last one gets a 410. Expects all that holds whatever was broken.
 */
export async function playBroken(recording: Recording, options: PlayBroken = {}): Promise<Outcome> {
  const { damage = () => undefined, modelRetries = 2, untilFailure = false, mayPass = false, generation = 7 } = options;
  const asked: number[] = [];
  let place = 0;
  let wasDamaged = false; // in the turn that runs
  let isOpen = false; // whether the last response was a broken one
  let before = '';
  await using server = await serveAnswers((_, { body }) => {
    const request = JSON.stringify(body);
    if (mayPass && isOpen && request !== before) place += 1;
    before = request;
    asked[place] = (asked[place] ?? 0) + 1;
    const recorded = recording.exchanges[place]?.response;
    if (recorded === undefined) return failing(410, { body: problem('no more responses') });
    const broken = damage(place, asked[place]!, recorded);
    isOpen = broken !== undefined;
    if (isOpen) wasDamaged = true;
    else place += 1;
    return broken ?? whole(recorded);
  });
  await using playing = await openRecording({ recording, url: server.url, generation, modelRetries, repeat: false });
  const turns: PlayedTurn[] = [];
  const inputs = [...recordedInputs(recording)];
  const submit = async (input: string): Promise<PlayedTurn> => {
    const turn = await playing.finish(playing.session.submit(input));
    turns.push(turn);
    assertPaired(playing.session.history);
    return turn;
  };
  while (inputs.length > 0 || place < recording.exchanges.length) {
    if (turns.length > 2 * recording.exchanges.length)
      throw new Error('the turns do not come to the end of the recording');
    wasDamaged = false;
    const { result } = await submit(inputs.shift() ?? 'Go on.');
    if (mayPass && isOpen) place += 1;
    isOpen = false;
    if (!untilFailure || !wasDamaged || result.status !== 'failed') continue;
    await submit(NEXT);
    break;
  }
  for (const { body } of server.received) expectValidRequest(recording.api, body);
  const outcome = { turns, history: playing.session.history, asked };
  expectSound(recording, outcome);
  return outcome;
}

/** What holds whatever was broken: one terminal a turn, only whole calls of the recording run, each once, half texts are marked. */
function expectSound(recording: Recording, { turns, history }: Outcome): void {
  for (const { events, result } of turns) {
    expect(events.filter(isTerminal)).toHaveLength(1);
    expect(events.at(-1)!.type).toBe(`turn.${result.status}`);
    expect(['done', 'failed']).toContain(result.status);
  }
  expectOnlyRecordedCalls(
    recording,
    turns.flatMap(({ events }) => events),
  );
  for (const message of history) {
    if (message.role !== 'assistant' || message.providerOptions?.looprig === undefined) continue;
    expect(message.providerOptions.looprig).toEqual({ incomplete: 'broken' });
    for (const part of message.content) expect(['text', 'reasoning']).toContain(part.type);
  }
}

type Call = { readonly toolName: string; readonly input: unknown };

const calls = new Map<Recording, readonly Call[]>();

function callsOf(recording: Recording): readonly Call[] {
  const known =
    calls.get(recording) ?? recordedTools(recording).calls.map(({ toolName, input }) => ({ toolName, input }));
  calls.set(recording, known);
  return known;
}

/** Each call that ran is one of the recording, and none of those ran twice. */
function expectOnlyRecordedCalls(recording: Recording, events: readonly TurnEvent[]): void {
  const left = [...callsOf(recording)];
  for (const call of callsRun(events)) {
    const place = left.findIndex(recorded => isDeepStrictEqual(recorded, call));
    expect(place, `${JSON.stringify(call)} is no call of the recording, or ran twice`).not.toBe(-1);
    left.splice(place, 1);
  }
}

/** Name and arguments of the calls that really started, in the order in which they were asked for. */
function callsRun(events: readonly TurnEvent[]): readonly Call[] {
  const started = new Set(events.flatMap(event => (event.type === 'tool.started' ? [event.callId] : [])));
  return events.flatMap(event =>
    event.type === 'tool.called' && started.has(event.callId)
      ? [{ toolName: event.toolName, input: structuredClone(event.input) }]
      : [],
  );
}

/**
 * What of an outcome is the same whenever a recording is played: without ids that are made anew, and without times. Usage comes last
 * in some formats, behind all that a response says, so that one that ends early may be whole but for that.
 */
export function comparable({ turns, history }: Outcome, { usage = true }: { readonly usage?: boolean } = {}): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify({
    history,
    turns: turns.map(({ events, result }) => ({
      calls: callsRun(events),
      status: result.status,
      text: result.text,
      ...(usage && { usage: result.usage }),
      counts: [result.steps, result.iterations, result.calls],
      how:
        result.status === 'done'
          ? result.finishReason
          : result.status === 'failed'
            ? [result.error.name, result.error.kind]
            : '',
    })),
  });
  const named = text.replace(/"toolCallId":"([^"]*)"/g, (_, id: string) => {
    if (!ids.has(id)) ids.set(id, `call ${ids.size}`);
    return `"toolCallId":"${ids.get(id)}"`;
  });
  return JSON.parse(named);
}

/** The text that each step of an outcome showed, in order, without what attempts before the last one had shown. */
function textsShown(events: readonly TurnEvent[]): readonly string[] {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'step.started' || event.type === 'step.retrying') texts.set(event.stepId, '');
    if (event.type === 'text.delta') texts.set(event.stepId, texts.get(event.stepId) + event.text);
  }
  return [...texts.values()];
}

/** The error of a turn that failed by its model. */
export function modelErrorOf({ result }: PlayedTurn): ModelError {
  if (result.status !== 'failed' || !ModelError.is(result.error))
    throw new Error(`the turn did not fail by its model: ${JSON.stringify(result)}`);
  return result.error;
}

/** How a recording goes when nothing is broken. */
export interface Unbroken extends Outcome {
  /** Whether each step asked once. A recording that ends without a word of its end is broken by itself. */
  readonly isSteady: boolean;
}

const played = new Map<string, Promise<Unbroken>>();

/** The recording as it goes when nothing is broken. */
export function unbroken(recording: Recording, generation: Generation = 7): Promise<Unbroken> {
  const key = `${recording.name} ${generation}`;
  const known = played.get(key) ?? playUnbroken(recording, generation);
  played.set(key, known);
  return known;
}

async function playUnbroken(recording: Recording, generation: Generation): Promise<Unbroken> {
  const outcome = await playBroken(recording, { generation });
  const events = outcome.turns.flatMap(turn => turn.events);
  return { ...outcome, isSteady: !events.some(({ type }) => type === 'step.retrying') };
}

/**
 * What holds of a turn that failed since exchange `index` was broken in each of its attempts, and of what came after it: the last
 * turn but one, and the last.
 */
export async function expectFailedTurn(
  recording: Recording,
  outcome: Outcome,
  { index, attempts, kind }: { readonly index: number; readonly attempts: number; readonly kind?: ModelError['kind'] },
): Promise<void> {
  const expected = await unbroken(recording);
  const failed = outcome.turns.at(-2)!;
  const error = modelErrorOf(failed);
  if (kind === undefined) expect(['request_failed', 'stream_broken']).toContain(error.kind);
  else expect(error.kind).toBe(kind);
  expect(error.message).toMatch(/^the model (request failed|response broke off)( \d times)?: [^\n]+$/);
  if (!expected.isSteady) return;
  expect(error.attempts).toBe(attempts);
  expect(outcome.asked.slice(0, index + 1)).toEqual([...Array(index).fill(1), attempts + 1]);

  const shown = textsShown(outcome.turns.slice(0, -1).flatMap(({ events }) => events)).at(-1)!;
  const whole = textsShown(expected.turns.flatMap(({ events }) => events))[index]!;
  expect(whole.startsWith(shown)).toBe(true);
  expect(failed.result.text).toBe(shown);
  if (shown !== '') expect(error.kind).toBe('stream_broken');
  expectKept(expected, outcome, shown);
}

/** Of the broken response the history keeps the text that was shown, marked, and of what was before it all. */
function expectKept(expected: Outcome, outcome: Outcome, shown: string): void {
  const end = outcome.history.findIndex(message => message.role === 'user' && JSON.stringify(message).includes(NEXT));
  const before = outcome.history.slice(0, end);
  const last = before.at(-1)!;
  const isMarked = last.role === 'assistant' && last.providerOptions?.looprig !== undefined;
  expect(isMarked).toBe(shown.trim() !== '');
  if (isMarked) {
    expect(last.content.map(part => (part.type === 'text' ? part.text : '')).join('')).toBe(shown);
    before.pop();
  }
  const first = (history: readonly Message[]): unknown =>
    comparable({ turns: [], asked: [], history: history.slice(0, before.length) });
  expect(first(before)).toEqual(first(expected.history));
}
