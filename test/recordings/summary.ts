/** A playing of a recording, told in few words: what came of it, and what should have. */
import { type Message, ModelError, type TurnResult, toolResult, type Usage } from 'looprig';
import { type RecordedCall, type Recording, recordedTools, standInTools } from 'looprig/testing';
import { addUsage, NO_USAGE } from '../../src/model/model.ts';
import { scriptedTool } from '../../src/testing/scripted-tool.ts';
import { wireFormat } from '../../src/testing/wire-formats.ts';
import { type ReceivedRequest, startReplay } from '../support/replay-server.ts';
import { read, type Said } from './bodies.ts';
import type { Difference, Ending, Entry, Expected, ExpectedTurn, Playing } from './expected.ts';
import { at, list } from './json.ts';
import type { Generation } from './packages.ts';
import { openRecording, type PlayedTurn, type PlayOptions } from './play.ts';
import { recordedInputs } from './requests.ts';

/** What came of a playing, and what should have: the same in both, or something is wrong. */
export interface Summary {
  readonly turns: readonly (ExpectedTurn & { readonly text?: string })[];
  /** The calls that the client was asked for, as they stand in the history. */
  readonly calls: readonly { readonly toolName: string; readonly input: string; readonly outcome: string }[];
  /** The results that each request carries, and the ids of the calls that they answer, where those were recorded. */
  readonly results: readonly (readonly { readonly id: string; readonly value: unknown }[])[];
  readonly serverCalls: number;
  readonly sealsLost: number;
  readonly usage: Usage;
  /** What the last request says of the tools, where it asks for a closing answer. */
  readonly closing?: string;
}

/** A playing that has ended. */
export interface Observed {
  readonly turns: readonly PlayedTurn[];
  readonly history: readonly Message[];
  readonly summary: Summary;
  readonly received: readonly ReceivedRequest[];
}

/** What the stand-in of an output tool ends its turn with. */
const TAKEN = 'taken';

/** Plays a recording over a server of its own, with the body of each response cut at awkward places. */
export async function observe(
  recording: Recording,
  entry: Entry,
  playing: Playing,
  generation: Generation,
): Promise<Observed> {
  const expected = expectationOf(playing, generation);
  await using server = await startReplay(recording, { split: 'awkward' });
  await using played = await openRecording({
    recording,
    url: server.urlFor(recording.name),
    generation,
    tools: standInsOf(recording, entry),
    ...playing.options,
    // What a package cannot read, it can read no better for being sent again.
    ...(expected.unreadable !== undefined && { modelRetries: 0 }),
  });
  const inputs = [...(playing.inputs ?? recordedInputs(recording))];
  const turns: PlayedTurn[] = [];
  const told: Summary['turns'][number][] = [];
  for (const { continues } of expected.turns) {
    const before = server.received.length;
    const turn = await played.finish(
      continues ? played.session.continue() : played.session.submit(inputs.shift() ?? 'Go.'),
    );
    turns.push(turn);
    told.push(tell(turn, server.received.slice(before), continues));
  }
  if (inputs.length > 0) throw new Error(`${inputs.length} inputs of ${recording.name} are in no turn of the table`);
  const observed = { turns, history: played.session.history, received: server.received };
  return { ...observed, summary: summarize(observed, told, recording, expected) };
}

function standInsOf(recording: Recording, { outputTool }: Entry): PlayOptions['tools'] & object {
  return standInTools(recording).map(tool => {
    if (tool.name !== outputTool) return tool;
    return scriptedTool(outputTool, () => toolResult(TAKEN, { endTurn: true })).definition;
  });
}

/** What is expected of a generation: what is expected of all, but for what it does differently. */
export function expectationOf(
  { differences, ...playing }: Playing,
  generation: Generation,
): Expected & Partial<Difference> {
  const difference = differences?.[generation];
  if (difference?.unreadable !== undefined) return { ...playing, kept: [], serverCalls: 0, ...difference };
  return { ...playing, ...difference };
}

function tell(
  { result, events }: PlayedTurn,
  requests: readonly ReceivedRequest[],
  continues: boolean | undefined,
): Summary['turns'][number] {
  const retries = events.filter(event => event.type === 'step.retrying').length;
  return {
    ends: endingOf(result, requests),
    responses: requests.filter(({ ended }) => ended === 'whole').length,
    ...(retries > 0 && { retries }),
    ...(continues && { continues }),
    ...(result.status === 'done' && { text: result.text }),
  };
}

/** The names are those of the table, but for what it does not expect at all. */
function endingOf(result: TurnResult, requests: readonly ReceivedRequest[]): Ending {
  if (result.status === 'interrupted' || result.status === 'released') return result.status as Ending;
  if (result.status === 'failed') {
    return requests.at(-1)?.ended === 'exhausted' ? 'asks on' : (result.error.kind as Ending);
  }
  if (result.limited !== undefined) return 'answer at a limit';
  const { unified } = result.finishReason;
  if (result.text === '') return 'no text';
  if (result.text === TAKEN) return 'ended by its tool';
  return unified === 'stop' ? 'answer' : (`answer, ${unified}` as Ending);
}

function summarize(
  { turns, history, received }: Omit<Observed, 'summary'>,
  told: Summary['turns'],
  recording: Recording,
  { refused, closing }: Expected,
): Summary {
  const parts = history.flatMap(({ role, content }) => (role === 'assistant' ? content : []));
  const calls = parts.filter(part => part.type === 'tool-call');
  const outcomes = new Map(
    turns.flatMap(({ events }) =>
      events.flatMap(event => (event.type === 'tool.completed' ? [[event.callId, event.outcome] as const] : [])),
    ),
  );
  const own = calls.filter(call => call.providerExecuted !== true);
  return {
    turns: told,
    calls: own.map(({ toolName, input, toolCallId }) => {
      return { toolName, input: JSON.stringify(input), outcome: outcomes.get(toolCallId) ?? 'none' };
    }),
    results: received.map(({ body }) => sentResults(recording, body, refused)),
    serverCalls: calls.length - own.length,
    sealsLost: sealsDue(recording, received.length).filter(({ seal, request }) => !holds(received[request]?.body, seal))
      .length,
    usage: turns.map(({ result }) => result.usage).reduce(addUsage, NO_USAGE),
    ...(closing && { closing: toolsOf(received.at(-1)?.body) }),
  };
}

/** What a request says of the tools, in any of the formats. */
function toolsOf(body: unknown): string {
  if (list(at(body, 'tools')).length === 0) return 'no tools';
  const choice = at(body, 'tool_choice') ?? at(at(body, 'toolConfig'), 'functionCallingConfig');
  const said = [choice, at(choice, 'type'), at(choice, 'mode')];
  return said.includes('none') || said.includes('NONE') ? 'tools off' : 'tools on';
}

/** What a request that the package made gives back. Google's packages put the tool's answer beside its name, but for an error. */
function sentResults(recording: Recording, body: unknown, refused: RegExp | undefined): Summary['results'][number] {
  const { api, provider } = recording;
  const ids = new Set(recordedTools(recording).calls.map(call => call.id));
  return wireFormat(api)
    .results(body)
    .map(({ id, value }) => {
      const told = provider === 'google' ? (at(value, 'content') ?? value) : value;
      const known = id === undefined ? 'none' : ids.has(id) ? id : MADE_UP;
      return { id: known, value: refused?.test(JSON.stringify(told)) ? 'refused' : withWarning(told) };
    });
}

/** The id of a call that had none: the packages give it one. */
const MADE_UP = 'made up';

/** Takes the line apart that a result carries where the model repeats itself. */
function withWarning(value: unknown): unknown {
  const [, told = '', nth] = /^(.*)\n+Note: .* for the (\d)\w\w time in a row/s.exec(String(value)) ?? [];
  return nth === undefined ? value : { warned: JSON.parse(told), time: Number(nth) };
}

/** What a recording should come to, as far as its bodies and the table say. */
export function expectedSummary(recording: Recording, expected: Expected): Summary {
  const said = recording.exchanges.map(({ response }) => read(recording, response));
  const all = said.map((_, place) => place);
  const kept =
    expected.kept ??
    all.slice(
      0,
      expected.turns.reduce((sum, { responses }) => sum + responses, 0),
    );
  const answers = answersByResponse(recording, expected);
  const requests = requestsOf(expected);
  const { warnsFrom = Number.POSITIVE_INFINITY } = expected;
  const result = ({ id, value }: { readonly id: string; readonly value: unknown }, place: number) => {
    return { id, value: place + 1 < warnsFrom ? value : { warned: value, time: place + 1 } };
  };
  return {
    turns: turnsWithTexts(expected.turns, said),
    calls: kept.flatMap(place => answers[place]!.map(({ id: _id, value: _value, ...call }) => call)),
    results: Array.from({ length: requests }, (_, request) =>
      kept
        .filter(place => place < request)
        .flatMap(place => answers[place]!)
        .map(result),
    ),
    serverCalls: expected.serverCalls ?? kept.flatMap(place => said[place]!.serverCalls).length,
    sealsLost: expected.sealsLost ?? 0,
    usage: expectedUsage(said, expected.counted ?? kept, expected.inputTokensLost ?? 0),
    ...(expected.closing && { closing: expected.closing }),
  };
}

/** As many as there are responses, and one more if the recording ends on calls. */
function requestsOf({ turns }: Expected): number {
  return turns.reduce((sum, { responses, ends }) => sum + responses + (ends === 'asks on' ? 1 : 0), 0);
}

function turnsWithTexts(turns: readonly ExpectedTurn[], said: readonly Said[]): Summary['turns'] {
  let played = 0;
  return turns.map(turn => {
    played += turn.responses;
    if (turn.ends === 'ended by its tool') return { ...turn, text: TAKEN };
    if (turn.ends === 'no text') return { ...turn, text: '' };
    return turn.ends.startsWith('answer') ? { ...turn, text: said[played - 1]!.text } : turn;
  });
}

/** What each call of each response is answered with. */
function answersByResponse(recording: Recording, { refused, refusedFrom = 0 }: Expected) {
  const calls = recordedTools(recording).calls.map((call, place) =>
    answerOf(call, refused !== undefined && place >= refusedFrom),
  );
  return recording.exchanges.map(({ response }) => calls.splice(0, wireFormat(recording.api).calls(response).length));
}

function answerOf({ id = MADE_UP, toolName, input, result }: RecordedCall, isRefused: boolean) {
  const isObject = typeof input === 'object' && input !== null;
  const isError = at(result, 'isError') === true;
  return {
    id,
    toolName,
    input: JSON.stringify(isObject ? input : {}), // providers take nothing else back
    outcome: isRefused ? 'refused' : isError ? 'failed' : 'done',
    value: isRefused ? 'refused' : (result ?? 'no recorded result'),
  };
}

function expectedUsage(said: readonly Said[], counted: readonly number[], inputTokensLost: number): Usage {
  const sum = counted.map(place => said[place]!.usage).reduce(addUsage, NO_USAGE);
  const { inputTokens, totalTokens } = sum;
  return { ...sum, inputTokens: inputTokens - inputTokensLost, totalTokens: totalTokens - inputTokensLost };
}

/** The seals of the responses that were followed by a request, and its place. */
function sealsDue(recording: Recording, requests: number): { readonly seal: string; readonly request: number }[] {
  return recording.exchanges.flatMap(({ response }, place) =>
    place + 1 < requests ? read(recording, response).seals.map(seal => ({ seal, request: place + 1 })) : [],
  );
}

/** Whether a text stands somewhere in a body, whole and unchanged. */
function holds(body: unknown, wanted: string): boolean {
  if (typeof body === 'string') return body === wanted;
  const members = Array.isArray(body)
    ? list(body)
    : typeof body === 'object' && body !== null
      ? Object.values(body)
      : [];
  return members.some(member => holds(member, wanted));
}

/** The package's own error behind a turn that failed. */
export function errorBehind({ turns }: Observed): unknown {
  const result = turns[0]?.result;
  return result?.status === 'failed' && ModelError.is(result.error) ? result.error.cause : undefined;
}
