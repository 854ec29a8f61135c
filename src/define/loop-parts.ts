/** Reading the options of a loop: each is checked and copied once, over those of the definition that is extended. */
import { DefinitionError, type DefinitionErrorKind } from '../errors.ts';
import { resolveModel } from '../model/resolve.ts';
import { show } from '../show.ts';
import { BEHAVIOUR_OPTIONS, type BehaviourOptions, type LoopBehaviour, resolveBehaviour } from './behaviour.ts';
import { type LoopGate, resolveLoopGate } from './gate.ts';
import { resolveLimits } from './limits.ts';
import { resolveMiddlewares, type ToolMiddleware } from './middleware.ts';
import { type ModeDefinition, modeField, type OwnMode, readModes, resolveText, resolveTools } from './mode.ts';
import { readOptions } from './options.ts';
import { type ResolvedSchema, resolveSchema, UnusableSchema } from './schema.ts';
import { resolveSettings } from './settings.ts';

const LOOP_OPTIONS = [
  ...(['name', 'model', 'system', 'tools', 'middlewares', 'limits', 'settings', 'modes', 'initialMode'] as const),
  ...(['output', 'gate', 'description', 'displayName'] as const),
  ...BEHAVIOUR_OPTIONS,
] as const;

/** Options, each checked and copied: what a definition is made of, and what `extend` goes on from. */
export interface LoopParts {
  readonly name: string;
  /** The base mode in force. */
  readonly base: ModeDefinition;
  readonly modes: ReadonlyMap<string, OwnMode>;
  readonly initialMode: string | undefined;
  readonly middlewares: readonly ToolMiddleware[];
  readonly behaviour: LoopBehaviour;
  readonly output: ResolvedSchema | undefined;
  readonly gate: LoopGate;
  readonly description: string | undefined;
  readonly displayName: string | undefined;
}

/** The parts of a new definition, over those of the one that it extends. Throws `DefinitionError` with the path of what cannot be taken. */
export function readParts(options: unknown, from?: LoopParts): LoopParts {
  const given = readOptions(options, LOOP_OPTIONS, 'a loop', refuse);
  const name = given.name === undefined && from !== undefined ? from.name : resolveName(given.name);
  const base = readBase(given, from?.base);
  const middlewares = Object.freeze([...(from?.middlewares ?? []), ...resolveMiddlewares(given.middlewares)]);
  const modes = new Map(from?.modes);
  for (const [mode, own] of readModes(given.modes)) {
    if (modes.has(mode)) {
      const message = `there is a mode "${mode}" already: give the new one another name`;
      throw refuse(modeField(mode), message, {}, 'invalid_mode');
    }
    modes.set(mode, own);
  }
  return {
    ...{ name, base, middlewares, modes },
    initialMode: resolveInitialMode(given.initialMode === undefined ? from?.initialMode : given.initialMode, modes),
    output: given.output === undefined ? from?.output : resolveOutput(given.output),
    gate: given.gate === undefined && from !== undefined ? from.gate : resolveLoopGate(given.gate, refuseGate),
    behaviour: resolveBehaviour({ ...from?.behaviour, ...givenBehaviour(given) }),
    description: resolveText(given.description, 'description') ?? from?.description,
    displayName: resolveText(given.displayName, 'displayName') ?? from?.displayName,
  };
}

type Given = { readonly [Option in (typeof LOOP_OPTIONS)[number]]: unknown };

function readBase(given: Given, from: ModeDefinition | undefined): ModeDefinition {
  return Object.freeze({
    name: '',
    model: given.model === undefined && from !== undefined ? from.model : resolveModel(given.model, 'model'),
    system: resolveText(given.system, 'system') ?? from?.system ?? '',
    tools: Object.freeze([...new Set([...(from?.tools ?? []), ...resolveTools(given.tools, 'tools')])]),
    limits: given.limits === undefined && from !== undefined ? from.limits : resolveLimits(given.limits, 'limits'),
    settings:
      given.settings === undefined && from !== undefined ? from.settings : resolveSettings(given.settings, 'settings'),
  });
}

function givenBehaviour(given: Given): { readonly [Option in keyof BehaviourOptions]?: unknown } {
  return Object.fromEntries(
    BEHAVIOUR_OPTIONS.filter(name => given[name] !== undefined).map(name => [name, given[name]]),
  );
}

function resolveName(name: unknown): string {
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw refuse('name', `a loop needs a nonblank "name", not ${show(name)}`, { value: name }, 'missing_name');
}

function resolveInitialMode(initialMode: unknown, modes: ReadonlyMap<string, unknown>): string | undefined {
  const field = 'initialMode';
  const names = [...modes.keys()].map(name => `"${name}"`).join(', ');
  if (initialMode === undefined) {
    if (modes.size === 0) return undefined;
    throw refuse(field, `a loop with modes needs "initialMode": one of ${names}`, {}, 'missing_initial_mode');
  }
  if (typeof initialMode === 'string' && modes.has(initialMode)) return initialMode;
  const message =
    modes.size === 0
      ? '"initialMode" is for a loop with modes, and this one has none'
      : `"initialMode" must be one of ${names}, not ${show(initialMode)}`;
  throw refuse(field, message, { value: initialMode }, 'invalid_initial_mode');
}

/** The error carries neither the schema nor what a schema library said of it: both may quote what is private in it. */
function resolveOutput(output: unknown): ResolvedSchema {
  try {
    return resolveSchema(output);
  } catch (error) {
    const reason = error instanceof UnusableSchema ? `: ${error.message}` : '';
    throw refuse('output', `"output" cannot be used as a schema${reason}`, {}, 'invalid_output_schema');
  }
}

function refuseGate(field: string, message: string, details?: { readonly value?: unknown }): DefinitionError {
  return refuse(field.startsWith('gate') ? field : 'gate', message, details);
}

function refuse(
  field: string,
  message: string,
  details: { readonly value?: unknown; readonly cause?: unknown } = {},
  kind: DefinitionErrorKind = 'invalid_option',
): DefinitionError {
  return new DefinitionError(kind, { field: field === '' ? 'options' : field, message, ...details });
}
