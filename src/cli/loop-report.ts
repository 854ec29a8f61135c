/** What a loop offers and may use, found by defining and binding it: no model is asked, and no tool runs. */
import type { LooprigConfig } from '../config/index.ts';
import {
  type BoundLoop,
  type BoundTool,
  defineRig,
  type LoopDefinition,
  memoryStore,
  type ToolLimits,
} from '../index.ts';

/** A tool, as it says of itself. */
export interface ToolReport {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: BoundTool['info']['inputSchema'];
  /** It says what each call wants, for rules and people to decide. */
  readonly declaresAccess: boolean;
  /** It says what each call works on: such calls keep their order. */
  readonly declaresResource: boolean;
  readonly sequential: boolean;
  readonly idempotent: boolean;
  /** The longest a call may run, in milliseconds; `null` for no end. */
  readonly timeoutMs: number | null;
}

/** Limits; `null` is none. */
export type LimitReport = { readonly [Limit in keyof ToolLimits]-?: number | null };

export interface ModeReport {
  /** `""` is the base mode. */
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly limits: LimitReport;
}

export interface LoopReport {
  readonly name: string;
  readonly description?: string;
  /** The mode that a session starts in. */
  readonly initialMode: string;
  readonly modes: readonly ModeReport[];
  /** The tools of all modes, once each. */
  readonly tools: readonly ToolReport[];
}

/** Binds a loop of a configuration as a session would, looks at it, and lets go of it. Rejects with whatever refuses that. */
export async function reportLoop(loop: LoopDefinition, config: LooprigConfig): Promise<LoopReport> {
  const rig = defineRig({ workspace: '.', ...config, store: memoryStore() });
  await using bound = await rig.bind(loop.name);
  return reportBound(loop, bound);
}

function reportBound({ description }: LoopDefinition, { name, modes, initialMode }: BoundLoop): LoopReport {
  const tools = new Map<string, ToolReport>();
  for (const mode of modes) for (const tool of mode.tools) tools.set(tool.info.name, reportTool(tool, mode.limits));
  return {
    name,
    ...(description !== undefined && { description }),
    initialMode: initialMode.name,
    modes: modes.map(mode => ({
      name: mode.name,
      model: `${mode.model.provider}/${mode.model.modelId}`,
      tools: mode.tools.map(({ info }) => info.name),
      limits: reportLimits(mode.limits),
    })),
    tools: [...tools.values()],
  };
}

function reportTool({ info, live }: BoundTool, { callTimeoutMs }: { readonly callTimeoutMs: number }): ToolReport {
  return {
    ...{ name: info.name, description: info.description, inputSchema: info.inputSchema },
    declaresAccess: live.access !== undefined,
    declaresResource: live.resource !== undefined,
    sequential: live.sequential === true,
    idempotent: live.idempotent === true,
    timeoutMs: finite(Math.min(live.timeoutMs ?? callTimeoutMs, callTimeoutMs)),
  };
}

function reportLimits(limits: Readonly<Record<keyof ToolLimits, number>>): LimitReport {
  const entries = Object.entries(limits).map(([name, value]) => [name, finite(value)]);
  return Object.fromEntries(entries);
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
