/** The tools of a bound loop, as AI SDK runs them. The rules of the loop go with them; its limits do not. */
import { jsonSchema, type ToolExecutionOptions, type ToolSet } from 'ai';
import { decisionOf, type GateRule, resolveRules } from '../define/gate.ts';
import { readTyped, refuseOption } from '../define/options.ts';
import { newId } from '../ids.ts';
import type { BoundLoop, BoundMode, BoundTool, Clock } from '../index.ts';
import { DefinitionError, systemClock } from '../index.ts';
import type { JSONValue } from '../model/model.ts';
import { BoundCall, type CallPlace } from './bound-call.ts';
import { Exclusion } from './exclusion.ts';
import type { ModelOutput } from './model-output.ts';
import { isParts } from './output-value.ts';

/** Options of `toAISDK`. */
export interface ToAISDKOptions {
  /** The mode whose tools are given. Default: the loop's initial mode. */
  readonly mode?: string;
  /** What calls may do, beside the rules of the loop. What no rule is about needs an approval. Default: none. */
  readonly rules?: readonly GateRule[];
  /** Is told how far a running tool is. Default: nobody. */
  readonly onProgress?: (update: JSONValue, call: { readonly toolName: string; readonly toolCallId: string }) => void;
  /** The clock by which a call's time is over. Default: the system's. */
  readonly clock?: Clock;
}

const OPTIONS = ['mode', 'rules', 'onProgress', 'clock'] as const;

/**
 * The tools of a bound loop for `streamText`, `generateText` or an agent of AI SDK. Arguments are checked, middlewares run, and results are made and cut
 * to size as in a turn; an error result fails the call with its text. A call runs for at most its `timeoutMs` and `callTimeoutMs`, and calls that are
 * `sequential` or on one resource run one after the other. What a rule forbids does not run; what none allows has `needsApproval`.
 *
 * The binding stays the caller's: dispose it when the tools are not used any more. Throws `DefinitionError` for a mode that the loop has not.
 */
export function toAISDK(bound: BoundLoop, options: ToAISDKOptions = {}): ToolSet {
  const { mode: name, rules: given, onProgress, clock = systemClock } = readTyped(options, OPTIONS, 'toAISDK');
  const mode = modeOf(bound, name);
  const rules = [...bound.gate.rules, ...resolveRules(given, 'rules', refuseOption)];
  const place: CallPlace = {
    bound,
    limits: mode.limits,
    exclusion: new Exclusion(),
    clock,
    turnId: newId(),
    isForbidden: access => decisionOf(rules, access) === 'deny',
    onProgress,
  };
  return Object.fromEntries(
    mode.tools.map(tool => {
      const { description, inputSchema } = tool.info;
      const schema = jsonSchema<unknown>(inputSchema, { validate: input => checked(tool, input) });
      const made = {
        description,
        inputSchema: schema,
        execute: (input: unknown, call: ToolExecutionOptions<unknown>) => new BoundCall(place, tool, input, call).run(),
        toModelOutput: ({ output }: { readonly output: unknown }) => modelOutput(output),
        ...(tool.live.access === undefined ? {} : { needsApproval: (input: unknown) => needsApproval(tool, input) }),
      };
      return [tool.info.name, made] as const;
    }),
  );

  async function needsApproval(tool: BoundTool, input: unknown): Promise<boolean> {
    try {
      const wanted = (await tool.live.access?.(input)) ?? [];
      return wanted.some(access => decisionOf(rules, access) === 'ask');
    } catch {
      return true; // a tool that cannot say what it wants does not run unasked, and then not at all
    }
  }
}

function modeOf(bound: BoundLoop, name: string | undefined): BoundMode {
  if (typeof bound?.mode !== 'function' || typeof bound.sessionId !== 'string') {
    const message = '"bound" must be a bound loop: what `await loop.bind({ sessionId, loopId })` gives';
    throw new DefinitionError('invalid_option', { field: 'bound', message, value: bound });
  }
  const mode = name === undefined ? bound.initialMode : bound.mode(name);
  if (mode !== undefined) return mode;
  const known = bound.modes.map(({ name }) => `"${name}"`).join(', ');
  const message = `loop "${bound.name}" has no mode "${name}": it has ${known}`;
  throw new DefinitionError('invalid_option', { field: 'mode', message, value: name });
}

async function checked(
  tool: BoundTool,
  input: unknown,
): Promise<{ success: true; value: unknown } | { success: false; error: Error }> {
  const result = await tool.validate(structuredClone(input));
  if (result.issues === undefined) return { success: true, value: result.value };
  const issues = result.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { success: false, error: new TypeError(issues.join('; ')) };
}

/** What `execute` gave, as the model is shown it: AI SDK may ask for it again, later, of a value that a page has sent back. */
function modelOutput(output: unknown): ModelOutput {
  if (typeof output === 'string') return { type: 'text', value: output };
  if (isParts(output)) return { type: 'content', value: [...output.parts] };
  return { type: 'json', value: (output ?? null) as Extract<ModelOutput, { type: 'json' }>['value'] };
}
