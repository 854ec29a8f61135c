/** Tools with effects on real files: each writes a file, and what it did to the ledger. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolCapabilities } from '../../src/define/tool.ts';
import { defineTool, type ToolCall, type ToolDefinition, toolResult } from '../../src/index.ts';

/** What calls of the plays are made with. */
interface EffectInput {
  readonly n?: number;
  /** How long the effect takes. */
  readonly ms?: number;
  readonly key?: string;
  readonly target?: string;
  /** How long the result is. */
  readonly bytes?: number;
}

/** Told when an effect begins and when it is through; what it returns is waited for. */
export interface EffectWatch {
  begin(call: ToolCall, input: unknown): void;
  end(call: ToolCall, input: unknown): void;
}

type Capabilities = ToolCapabilities<EffectInput>;

const row: Capabilities = { resource: ({ key = '' }) => key };
const act = (action: string): Capabilities => ({ access: ({ target = '' }) => [{ action, target }] });

/** The tools by their names: what may be repeated, and what must not. */
const KINDS: Readonly<Record<string, Capabilities>> = {
  note: { idempotent: true },
  row: { ...row, idempotent: true },
  alone: { sequential: true, idempotent: true },
  big: { idempotent: true },
  fails: { idempotent: true },
  ends: { idempotent: true },
  pay: {},
  'row-once': row,
  'alone-once': { sequential: true },
  write: act('fs.write'),
  ask: act('act'),
  'ask-again': { ...act('act'), idempotent: true },
};

/** Whether a call of this tool may run again after a crash. */
export function isRepeatable(toolName: string): boolean {
  return KINDS[toolName]?.idempotent === true;
}

/** The folder of the files that repeatable effects write, and the file to which the others append a line. */
export const effectFiles = (folder: string) => ({ out: join(folder, 'out'), log: join(folder, 'effects') });

const INPUT = {
  type: 'object',
  properties: {
    n: { type: 'number' },
    ms: { type: 'number' },
    key: { type: 'string' },
    target: { type: 'string' },
    bytes: { type: 'number' },
  },
} as const;

/** All tools of the plays, with effects in `folder`. */
export function effectTools(folder: string, watch: EffectWatch): readonly ToolDefinition[] {
  const { out, log } = effectFiles(folder);
  mkdirSync(out, { recursive: true });
  return Object.entries(KINDS).map(([name, capabilities]) =>
    defineTool({
      name,
      description: `Does "${name}".`,
      input: INPUT,
      ...(capabilities as ToolCapabilities<unknown>),
      execute: async (given, call) => {
        const input = given as EffectInput;
        watch.begin(call, input);
        if (capabilities.idempotent === true) writeFileSync(join(out, call.callId), JSON.stringify(input));
        else appendFileSync(log, `${call.callId}\n`);
        if (input.ms !== undefined) await sleep(input.ms);
        watch.end(call, input);
        if (name === 'fails') throw new Error('it cannot be done');
        return name === 'ends' ? toolResult(resultOf(name, input), { endTurn: true }) : resultOf(name, input);
      },
    }),
  );
}

/** Where a result is long, it is text that differs everywhere, so that a piece from a wrong place is seen. */
function resultOf(name: string, input: EffectInput): string {
  const said = `${name} ${JSON.stringify(input)}`;
  if (input.bytes === undefined) return said;
  const lines = Array.from({ length: Math.ceil(input.bytes / 16) }, (_, index) => `${input.n} ${index}`.padEnd(15));
  return `${said}\n${lines.join('\n')}`;
}
