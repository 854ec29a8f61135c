/** The loop whose turns the tests of engines run: its model does what the input says, and its tools write down what they do. */
import { systemClock } from '../clock.ts';
import type { ToolCall } from '../define/live-tool.ts';
import { defineLoop, type LoopDefinition } from '../define/loop.ts';
import { defineTool, type ToolDefinition } from '../define/tool.ts';
import type { Message } from '../model/model.ts';
import { isLetGo, noteIn, readLedger } from './engine-kit-ledger.ts';
import { pause } from './pause.ts';
import { forever, scriptedModel } from './scripted-model.ts';
import type { ScriptedReply } from './scripted-reply.ts';

/**
 * A tool: `note` takes `ms` and gives `bytes` of text; `hold` waits to be let go, `again` too and may be repeated; `meet` waits until `count` calls of its key have
 * begun; `ask` needs permission; `memory` tells what the process holds.
 */
type KitToolName = 'note' | 'hold' | 'again' | 'meet' | 'ask' | 'memory';

/** A call that a turn of the kit makes. */
interface KitCall {
  readonly tool: KitToolName;
  readonly key: string;
  readonly ms?: number;
  readonly bytes?: number;
  readonly count?: number;
}

/** What a turn of the kit does: these batches, one after the other, so many times; then it says `done`. */
export interface KitPlan {
  readonly batches: readonly (readonly KitCall[])[];
  readonly times?: number;
}

const KIT_LOOP = 'engine-kit';
export const KIT_ANSWER = 'done';
/** A longer result is cut, and kept whole beside the journal. */
export const KIT_RESULT_BYTES: number = 3 << 19;

/** The loops of the tests of engines. `folder` is where tools write down what they did: the same for every worker. */
export function engineKitLoops(folder: string): readonly [LoopDefinition] {
  const model = scriptedModel(
    forever(({ prompt }) => replyTo(prompt as readonly Message[])),
    { record: false },
  );
  const limits = { iterations: 1_000, calls: 10_000, parallel: 8, resultBytes: KIT_RESULT_BYTES };
  return [defineLoop({ name: KIT_LOOP, model, tools: toolsIn(folder), limits, repeat: false })];
}

function replyTo(prompt: readonly Message[]): ScriptedReply {
  const at = prompt.findLastIndex(message => message.role === 'user' && textOf(message).startsWith('{'));
  const { batches, times = 1 } = JSON.parse(textOf(prompt[at])) as KitPlan;
  const step = prompt.slice(at).filter(({ role }) => role === 'assistant').length;
  const batch = step < batches.length * times ? batches[step % batches.length] : undefined;
  if (batch === undefined) return { text: KIT_ANSWER };
  return {
    calls: batch.map(({ tool, ...input }, index) => ({ tool, id: `call-${prompt.length}-${index}`, input })),
  };
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('');
}

const INPUT = {
  type: 'object',
  properties: {
    key: { type: 'string' },
    ms: { type: 'number' },
    bytes: { type: 'number' },
    count: { type: 'number' },
  },
  required: ['key'],
} as const;

type KitInput = Omit<KitCall, 'tool'>;
type Effect = (input: KitInput, call: ToolCall) => unknown;

/** How often a waiting call looks, in milliseconds. */
const LOOK_MS = 20;

function toolsIn(folder: string): readonly ToolDefinition[] {
  const held: Effect = async ({ key }, { signal }) => {
    while (!isLetGo(folder, key)) await pause(LOOK_MS, systemClock, signal);
    return `let go: ${key}`;
  };
  const effects: Record<KitToolName, Effect> = {
    note: async ({ key, ms = 0, bytes }, { signal }) => {
      if (ms > 0) await pause(ms, systemClock, signal);
      return bytes === undefined ? `noted: ${key}` : textOfLength(key, bytes);
    },
    hold: held,
    again: held,
    meet: async ({ key, count = 2 }, { signal }) => {
      const begun = (): number => readLedger(folder).filter(line => line.what === 'begin' && line.key === key).length;
      while (begun() < count) await pause(LOOK_MS, systemClock, signal);
      return `met: ${key}`;
    },
    ask: ({ key }) => `allowed: ${key}`,
    memory: () => {
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    },
  };
  return Object.entries(effects).map(([name, effect]) =>
    defineTool({
      name,
      description: `Does "${name}".`,
      input: INPUT,
      idempotent: name === 'again' || name === 'memory',
      ...(name === 'ask' ? { access: given => [{ action: 'kit.ask', target: (given as KitInput).key }] } : {}),
      execute: async (given, call) => {
        const input = given as KitInput;
        const fact = { callId: call.callId, sessionId: call.sessionId, tool: name, key: input.key };
        noteIn(folder, { what: 'begin', ...fact });
        let what: 'end' | 'stopped' = 'stopped';
        try {
          const result = await effect(input, call);
          what = 'end';
          return result;
        } finally {
          noteIn(folder, { what, ...fact });
        }
      },
    }),
  );
}

/** Text of a length that differs everywhere, so that a piece from a wrong place is seen. */
export function textOfLength(key: string, length: number): string {
  const lines = Array.from({ length: Math.ceil(length / 16) }, (_, index) => `${key} ${index}`.padEnd(15));
  return `${lines.join('\n')}\n`.slice(0, length);
}
