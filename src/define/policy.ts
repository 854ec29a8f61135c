/** The policy revision: one hash for all definitions that behave alike, by which a restored session knows that its loop has changed. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { LoopBehaviour } from './behaviour.ts';
import { canonicalJson } from './canonical.ts';
import type { LoopGate } from './gate.ts';
import { DEFAULT_TOOL_LIMITS, type ResolvedToolLimits } from './limits.ts';
import type { ModeDefinition } from './mode.ts';
import type { ResolvedSchema } from './schema.ts';
import type { ToolDefinition } from './tool.ts';

/** What of a definition changes how it behaves. */
export interface Policy {
  readonly name: string;
  readonly modes: readonly ModeDefinition[];
  readonly initialMode: string | undefined;
  readonly behaviour: LoopBehaviour;
  readonly output: ResolvedSchema | undefined;
  readonly gate: LoopGate;
}

/** SHA-256 of the policy's canonical JSON, as hexadecimal text. Functions (factories, middlewares) have no text and do not count. */
export function policyRevision({ name, modes, initialMode, behaviour, output, gate }: Policy): string {
  const { repeat, outputMode, ...rest } = behaviour;
  const policy = {
    ...{ name, initialMode },
    modes: Object.fromEntries(modes.map(mode => [mode.name, modePolicy(mode)])),
    behaviour: { ...rest, repeat: repeat === false ? false : numbers(repeat) },
    output: output?.jsonSchema,
    // An option that came later is left out where it is what it always was, so that older revisions stay what they were.
    outputMode: output === undefined || outputMode === 'auto' ? undefined : outputMode,
    gate: gate.rules.length === 0 ? undefined : gate.rules.map(({ rule }) => canonicalJson(rule)).sort(),
  };
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(policy))));
}

function modePolicy({ model, system, tools, limits, settings }: ModeDefinition): object {
  const { provider, modelId } = model;
  return {
    model: { provider, modelId },
    system,
    tools: tools.map(toolPolicy).sort(),
    limits: numbers(limitsPolicy(limits)),
    settings,
  };
}

/** A limit that came later is left out where it has its default, as options are. */
function limitsPolicy({ captureBytes, ...limits }: ResolvedToolLimits): object {
  return captureBytes === DEFAULT_TOOL_LIMITS.captureBytes ? limits : { ...limits, captureBytes };
}

function toolPolicy({ name, produces, requires }: ToolDefinition): string {
  return canonicalJson({ name, produces: [...produces].sort(), requires: [...requires].sort() });
}

/** Numbers as text, since JSON has no Infinity. */
function numbers(record: object): object {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value)]));
}
