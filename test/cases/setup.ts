/** What the tests of the cases share: a session whose events are all kept, and what must hold whatever happened in it. */
import {
  defineLoop,
  defineRig,
  isTerminal,
  type LoopDefinition,
  type LoopOptions,
  type Message,
  type RigOptions,
  type Session,
  type SessionEvent,
  type ToolDefinition,
  type ToolResultOutput,
  type Turn,
  type TurnEvent,
} from 'looprig';
import {
  assertPaired,
  collect,
  forever,
  type ManualClock,
  manualClock,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedTool,
  scriptedModel,
} from 'looprig/testing';
import { expect } from 'vitest';

/** What the user says in the turn that shows that a session still works. */
const NEXT = 'and now?';

/** A model that gives these replies, then answers whatever it is asked. */
export function saying(...replies: readonly ScriptedReply[]): ScriptedModel {
  return insisting(index => replies[index] ?? { text: 'fine' });
}

/** A model that gives `reply` for ever, whatever it is told, but for the turn that shows that a session still works. */
export function insisting(reply: (index: number) => ScriptedReply): ScriptedModel {
  return scriptedModel(
    forever((request, index) => (lastUserText(request.prompt) === NEXT ? { text: 'fine' } : reply(index))),
  );
}

export interface OpenedSession {
  readonly session: Session;
  readonly model: ScriptedModel;
  readonly clock: ManualClock;
  /** Every event that the session has told, in order. */
  readonly events: readonly SessionEvent[];
}

type Loop = Omit<LoopOptions, 'name' | 'model' | 'tools' | 'modes' | 'initialMode'>;

export interface SetUp extends Loop {
  readonly model: ScriptedModel;
  readonly tools?: readonly (ScriptedTool | ToolDefinition)[];
  readonly clock?: ManualClock;
  readonly rig?: Partial<RigOptions<readonly LoopDefinition[]>>;
}

/** Opens a session of one loop without modes. */
export function open({ model, tools = [], clock, rig, ...loop }: SetUp): Promise<OpenedSession> {
  const definitions = tools.map(tool => ('definition' in tool ? tool.definition : tool));
  return openLoop(defineLoop({ name: 'case', ...loop, model, tools: definitions }), model, clock, rig);
}

/** Opens a session of `loop`, which asks `model`. */
export async function openLoop(
  loop: LoopDefinition,
  model: ScriptedModel,
  clock: ManualClock = manualClock(),
  rig: Partial<RigOptions<readonly LoopDefinition[]>> = {},
): Promise<OpenedSession> {
  const events: SessionEvent[] = [];
  const observers = [...(rig.observers ?? []), (event: SessionEvent) => void events.push(event)];
  const session = await defineRig({ clock, ...rig, loops: [loop], observers }).open();
  return { session, model, clock, events };
}

/** Runs a turn to its end, moving the clock as far as it needs. */
export function play({ session, clock }: OpenedSession, input = 'go') {
  return clock.runUntil(collect(session.submit(input)));
}

/** Waits until the turn has told such an event. Moves no clock. */
export async function reached(
  turn: Turn,
  type: TurnEvent['type'],
  also: (event: TurnEvent) => boolean = () => true,
): Promise<TurnEvent> {
  for await (const event of turn) if (event.type === type && also(event)) return event;
  throw new Error(`the turn ended without such a ${type}`);
}

/** Of a call: an event about the call with this id. */
export function of(callId: string): (event: TurnEvent) => boolean {
  return event => 'callId' in event && event.callId === callId;
}

/** What holds after every turn: calls paired in the history and in each request, each call told once, one terminal a turn. */
export function expectSound({ session, model, events }: OpenedSession): void {
  assertPaired(session.history);
  for (const request of model.requests) expectValidPrompt(request.prompt);
  const turns = new Set(events.flatMap(event => ('turnId' in event && event.turnId ? [event.turnId] : [])));
  for (const turnId of turns) {
    expectSoundTurn(events.filter((event): event is TurnEvent => 'turnId' in event && event.turnId === turnId));
  }
}

function expectSoundTurn(events: readonly TurnEvent[]): void {
  // A tool that was left behind may still settle: the one thing that is told after the end.
  const own = events.filter(event => event.type !== 'tool.late');
  expect(own.filter(isTerminal).map(({ type }) => type)).toHaveLength(1);
  expect(isTerminal(own.at(-1)!)).toBe(true);
  const places = (type: TurnEvent['type']) =>
    new Map(own.flatMap((event, place) => (event.type === type && 'callId' in event ? [[event.callId, place]] : [])));
  const count = (type: TurnEvent['type']): number => own.filter(event => event.type === type).length;
  const [called, started, completed] = [places('tool.called'), places('tool.started'), places('tool.completed')];
  expect([...completed.keys()].sort()).toEqual([...called.keys()].sort());
  expect([called.size, completed.size]).toEqual([count('tool.called'), count('tool.completed')]);
  expect(started.size).toBe(count('tool.started'));
  for (const [callId, place] of called) expect(place).toBeLessThan(completed.get(callId)!);
  for (const event of own) {
    if (event.type === 'tool.started') {
      expect(called.get(event.callId)).toBeLessThan(started.get(event.callId)!);
      expect(started.get(event.callId)).toBeLessThan(completed.get(event.callId)!);
    }
    if (event.type !== 'tool.completed' || !['refused', 'denied'].includes(event.outcome)) continue;
    expect(started.has(event.callId)).toBe(false);
  }
}

/** What every provider takes: system text first, calls answered in the next message, the model's turn to speak, plain JSON. */
export function expectValidPrompt(prompt: readonly Message[]): void {
  assertPaired(prompt);
  prompt.forEach((message, index) => {
    if (message.role === 'system') expect(index).toBe(0);
    else expect(message.content.length).toBeGreaterThan(0);
    if (message.role !== 'assistant') return;
    for (const part of message.content) if (part.type === 'tool-call') expect(part.input).toBeTypeOf('object');
  });
  expect(['user', 'tool']).toContain(prompt.at(-1)?.role);
  const text = JSON.stringify(prompt);
  // JSON writes half of a surrogate pair as an escape, so each text is looked at by itself.
  const seen: string[] = [];
  const parsed: unknown = JSON.parse(text, (key, value) => {
    seen.push(key, typeof value === 'string' ? value : '');
    return value;
  });
  expect(seen.filter(one => !one.isWellFormed())).toEqual([]);
  expect(parsed).toEqual(prompt);
}

/** One more message on the same session: it is answered, and the model is shown all of the history so far. Gives its request's messages. */
export async function expectNextTurn(opened: OpenedSession): Promise<readonly Message[]> {
  const { session, model } = opened;
  const before = session.history;
  const { result } = await play(opened, NEXT);
  expect(result).toMatchObject({ status: 'done', text: 'fine' });
  const prompt = model.requests.at(-1)!.prompt.filter(({ role }) => role !== 'system');
  expect(prompt).toEqual([...before, { role: 'user', content: [{ type: 'text', text: NEXT }] }]);
  expectSound(opened);
  return prompt;
}

/** The results of all calls in a list of messages, in their order: id, and text or value. */
export function resultsIn(messages: readonly Message[]): readonly (readonly [string, unknown])[] {
  return messages.flatMap(message => {
    if (message.role !== 'tool') return [];
    return message.content.flatMap(part =>
      part.type === 'tool-result' ? [[part.toolCallId, shownValue(part.output)] as const] : [],
    );
  });
}

/** A result's text, or its value. */
function shownValue(output: ToolResultOutput): unknown {
  return output.type === 'execution-denied' ? output.reason : output.value;
}

/** How each call came to its result, in the order of finishing. */
export function outcomes(events: readonly (TurnEvent | SessionEvent)[]): readonly (readonly [string, string])[] {
  return events.flatMap(event => (event.type === 'tool.completed' ? [[event.callId, event.outcome] as const] : []));
}

/** The tools that each request may use: their names, or none where they are turned off. */
export function toolsOffered(model: ScriptedModel): readonly (readonly string[])[] {
  return model.requests.map(({ tools, toolChoice }) =>
    toolChoice?.type === 'none' ? [] : (tools ?? []).map(({ name }) => name),
  );
}

function lastUserText(prompt: readonly Message[]): string | undefined {
  const last = prompt.findLast(message => message.role === 'user');
  const part = last?.content.at(-1);
  return typeof part === 'object' && part.type === 'text' ? part.text : undefined;
}
