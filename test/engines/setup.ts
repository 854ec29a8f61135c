/** Processes that share a store, and an engine where a test says so: each has a rig, tools and a model of its own. */
import {
  type Clock,
  defineLoop,
  defineRig,
  defineTool,
  type GateOptions,
  isTerminal,
  type JournalRecord,
  type JournalStore,
  type SessionEvent,
  type ToolDefinition,
} from 'looprig';
import { createHost, type Engine, type Host, type HostOptions, type SessionHost } from 'looprig/engines';
import { forever, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

/** What a process of a test is made of. */
export interface ProcessOptions extends Pick<HostOptions, 'keepMs' | 'recover' | 'onError'> {
  readonly store: JournalStore;
  readonly engine?: Engine;
  /** Whether it runs turns. Default true. */
  readonly serves?: boolean;
  readonly clock?: Clock;
  readonly replies?: readonly ScriptedReply[];
  readonly tools?: readonly ToolDefinition[];
  readonly gate?: GateOptions;
}

/** The model answers by how many answers it has given since the user last spoke. */
export async function processOf({
  store,
  engine,
  serves = true,
  clock,
  replies = [],
  tools = [],
  gate = { ask: true },
  ...options
}: ProcessOptions): Promise<Host> {
  const model = scriptedModel(
    forever(({ prompt }) => {
      const said = prompt.findLastIndex(({ role }) => role === 'user');
      const given = prompt.slice(said).filter(({ role }) => role === 'assistant').length;
      return replies[given] ?? { text: 'done' };
    }),
    ...(clock === undefined ? [] : [{ clock }]),
  );
  const loop = defineLoop({
    ...{ name: 'clerk', model, tools, drainTimeoutMs: 100 },
    modes: { quick: {}, careful: { instructions: 'Take care.' } },
    initialMode: 'quick',
  });
  const rig = defineRig({ loops: [loop], store, gate, ...(clock === undefined ? {} : { clock }) });
  const host = createHost({ rig, ...(engine === undefined ? {} : { engine }), ...options });
  if (serves && engine !== undefined) await host.serve();
  return host;
}

/** A tool that writes what it did into a list that all processes have in common: the world outside. */
export function effectTool(world: string[], options: { name?: string; asks?: boolean; idempotent?: boolean } = {}) {
  const { name = 'write', asks = true, idempotent = false } = options;
  return defineTool({
    name,
    description: 'Writes.',
    input: z.object({ text: z.string() }),
    create: () => ({
      ...{ idempotent },
      ...(asks ? { access: ({ text }: { text: string }) => [{ action: 'write', target: text }] } : {}),
      execute: ({ text }) => {
        world.push(text);
        return `wrote ${text}`;
      },
    }),
  });
}

/** A tool whose calls a test ends. */
export function heldTool(name = 'work') {
  const calls: { readonly end: (text: string) => void; readonly signal: AbortSignal }[] = [];
  let wake = Promise.withResolvers<void>();
  const definition = defineTool({
    name,
    description: 'Works.',
    input: z.object({}),
    create: () => ({
      execute: (_, { signal }) => {
        const end = Promise.withResolvers<string>();
        signal.addEventListener('abort', () => end.reject(signal.reason));
        calls.push({ end: end.resolve, signal });
        wake.resolve();
        wake = Promise.withResolvers();
        return end.promise;
      },
    }),
  });
  return {
    definition,
    calls,
    /** The n-th call, from 0, when it runs. */
    async call(index: number) {
      while (calls[index] === undefined) await wake.promise;
      return calls[index];
    },
  };
}

export const call = (tool: string, input: unknown = {}): ScriptedReply => ({ calls: [{ tool, input }] });

/** Reads a session's events until one fits, and gives all that came. */
export async function readTo(
  host: SessionHost,
  sessionId: string,
  isLast: (event: SessionEvent) => boolean,
  after = 0,
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of host.events(sessionId, { after })) {
    events.push(event);
    if (isLast(event)) break;
  }
  return events;
}

/** Waits for the end of a turn. */
export async function endOf(host: SessionHost, sessionId: string, turnId: string): Promise<SessionEvent> {
  const events = await readTo(host, sessionId, event => isTerminal(event) && event.turnId === turnId);
  return events.at(-1)!;
}

/** Waits until a gate is open that no event before has told of. */
export async function gateOf(host: SessionHost, sessionId: string): Promise<string> {
  await readTo(host, sessionId, event => event.type === 'gate.opened');
  return (await host.find(sessionId)).gates[0]!.gateId;
}

export async function recordsOf(store: JournalStore, sessionId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  return records;
}

/** Waits until something holds, and gives it. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}
