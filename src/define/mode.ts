/** Modes: the ways in which a loop can work, each with its model, tools, limits, instructions and settings. */
import { DefinitionError } from '../errors.ts';
import type { AnyLanguageModel, LanguageModel, ModelSettings } from '../model/model.ts';
import { resolveModel } from '../model/resolve.ts';
import { show } from '../show.ts';
import { type ResolvedToolLimits, readLimits, resolveModeLimits, type ToolLimits } from './limits.ts';
import { copyList, ownKeys, type Refusal, readField, readOptions } from './options.ts';
import { resolveSettings } from './settings.ts';
import { isToolDefinition, problemWithToolName, type ToolDefinition } from './tool.ts';

/** One mode as it is declared. What is left out is the base mode's. */
export interface ModeOptions {
  /** Default: the loop's model. */
  readonly model?: AnyLanguageModel | undefined;
  /** Default, also for an empty list: the loop's tools. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** Override the loop's limits, field by field, where they are positive. */
  readonly limits?: ToolLimits | undefined;
  /** Joined to the loop's system text by a blank line. */
  readonly instructions?: string | undefined;
  /** Override the loop's request settings, one by one. */
  readonly settings?: ModelSettings | undefined;
}

/** One mode as it is in force. Frozen, all that it holds too. */
export interface ModeDefinition<Name extends string = string> {
  /** The base mode's name is `""`. */
  readonly name: Name;
  /** Of specification v4, whatever was given. */
  readonly model: LanguageModel;
  /** The effective system text; empty if there is none. */
  readonly system: string;
  /** Each definition once. */
  readonly tools: readonly ToolDefinition[];
  readonly limits: ResolvedToolLimits;
  readonly settings: ModelSettings;
}

const MODE_OPTIONS = ['model', 'tools', 'limits', 'instructions', 'settings'] as const;

/** A mode's own options, checked and copied; what is left out is `undefined` or empty. */
export interface OwnMode {
  readonly model: LanguageModel | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly limits: ToolLimits | undefined;
  readonly instructions: string;
  readonly settings: ModelSettings;
}

/**
 * The modes of a record, in its order. Throws `DefinitionError`: `invalid_mode`, `invalid_option`, `invalid_model`, `invalid_tool`,
 * `invalid_tool_limits`.
 */
export function readModes(modes: unknown): ReadonlyMap<string, OwnMode> {
  if (modes === undefined) return new Map();
  const refuse: Refusal = (name, message, details) =>
    refusal('invalid_mode', name === '' ? 'modes' : modeField(name), message, details);
  const names = ownKeys(modes, '"modes"', refuse);
  return new Map(
    names.map(name => {
      if (name.trim() === '') {
        throw refusal(
          'invalid_mode',
          modeField(name),
          `a mode needs a nonblank name, not ${show(name)} ("" is the base mode)`,
        );
      }
      return [name, readMode(name, readField(modes as object, name, `mode "${name}"`, refuse))];
    }),
  );
}

function readMode(name: string, mode: unknown): OwnMode {
  const field = modeField(name);
  const { model, tools, limits, instructions, settings } = readOptions(
    mode,
    MODE_OPTIONS,
    `mode "${name}"`,
    (option, message, details) =>
      option === ''
        ? refusal('invalid_mode', field, message, details)
        : refusal('invalid_option', `${field}.${option}`, message, details),
  );
  return {
    model: model === undefined ? undefined : resolveModel(model, `${field}.model`),
    tools: resolveTools(tools, `${field}.tools`),
    limits: readLimits(limits, `${field}.limits`),
    instructions: resolveText(instructions, `${field}.instructions`) ?? '',
    settings: resolveSettings(settings, `${field}.settings`),
  };
}

/** A mode in force: its own options over those of the base mode. */
export function modeOver(base: ModeDefinition, name: string, own: OwnMode): ModeDefinition {
  return Object.freeze({
    name,
    model: own.model ?? base.model,
    system: joinTexts(base.system, own.instructions),
    tools: own.tools.length === 0 ? base.tools : own.tools,
    limits: resolveModeLimits(base.limits, own.limits, `${modeField(name)}.limits`),
    settings: Object.freeze({ ...base.settings, ...own.settings }),
  });
}

/** A list of definitions, each once; empty where none is given. Throws `DefinitionError` with the place of what is none. */
export function resolveTools(tools: unknown, field: string): readonly ToolDefinition[] {
  if (tools === undefined) return Object.freeze([]);
  const list = copyList(tools);
  if (list === undefined) {
    const message = `"${field}" must be a list of tool definitions, not ${show(tools)}${remedyFor(tools)}`;
    throw new DefinitionError('invalid_tool', { field, message, value: tools });
  }
  list.forEach((tool, index) => {
    const problem = problemWithDefinition(tool);
    if (problem === undefined) return;
    const place = `${field}[${index}]`;
    throw new DefinitionError(problem.kind, { field: place, message: `"${place}" ${problem.reason}`, value: tool });
  });
  return Object.freeze([...new Set(list)]) as readonly ToolDefinition[];
}

/** Why a thing cannot stand in a list of tools, or `undefined`. The end of a sentence that begins with its place. */
export function problemWithDefinition(
  tool: unknown,
): { readonly kind: 'invalid_tool' | 'reserved_tool_name' | 'invalid_tool_name'; readonly reason: string } | undefined {
  if (!isToolDefinition(tool)) {
    const reason = `must come from defineTool or defineToolset, not ${show(tool)}${remedyFor(tool)}`;
    return { kind: 'invalid_tool', reason };
  }
  for (const name of tool.produces) {
    const problem = problemWithToolName(name);
    if (problem !== undefined) return { kind: problem.kind, reason: `cannot be used: ${problem.reason}` };
  }
  return undefined;
}

/** What to do with a tool of AI SDK, or with an object of them; empty for anything else. */
function remedyFor(given: unknown): string {
  const isOfAISDK = (thing: unknown): boolean => typeof thing === 'object' && thing !== null && 'inputSchema' in thing;
  try {
    if (![given, ...Object.values(given as object)].some(isOfAISDK)) return '';
  } catch {
    return '';
  }
  return ': tools of AI SDK become such by fromAISDK of "looprig/ai"';
}

/** The end of a sentence that says that a loop has no mode of some name. The base mode is `""`. */
export function modesInWords(names: readonly string[]): string {
  return names.every(name => name === '') ? 'it has no modes' : `it has ${names.map(name => `"${name}"`).join(', ')}`;
}

/** A text option, or `undefined`. Throws `DefinitionError` `invalid_option`. */
export function resolveText(text: unknown, field: string): string | undefined {
  if (text === undefined || typeof text === 'string') return text;
  throw refusal('invalid_option', field, `"${field}" must be a string, not ${show(text)}`, { value: text });
}

function joinTexts(first: string, second: string): string {
  if (first === '' || second === '') return first + second;
  return `${first}\n\n${second}`;
}

/** The path of a mode, for errors. */
export function modeField(name: string): string {
  return /^[\w-]+$/.test(name) ? `modes.${name}` : `modes[${JSON.stringify(name)}]`;
}

function refusal(
  kind: 'invalid_mode' | 'invalid_option',
  field: string,
  message: string,
  details: object = {},
): DefinitionError {
  return new DefinitionError(kind, { field, message, ...details });
}
