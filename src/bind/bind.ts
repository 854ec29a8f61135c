/**
 * Joins a loop definition to a session: checks what it is given, runs the factories one after the other, and checks what they
 * built. A bind that is refused leaves nothing behind: what was built is disposed of, the last first.
 */
import { type Clock, systemClock } from '../clock.ts';
import type { LoopBehaviour } from '../define/behaviour.ts';
import type { BindingName, BindingTypes, FactoryBindings } from '../define/bindings.ts';
import type { LoopGate } from '../define/gate.ts';
import { composeMiddlewares, type ToolMiddleware } from '../define/middleware.ts';
import { type ModeDefinition, problemWithDefinition } from '../define/mode.ts';
import { copyList } from '../define/options.ts';
import type { ResolvedSchema } from '../define/schema.ts';
import type { ToolDefinition } from '../define/tool.ts';
import { BindError } from '../errors.ts';
import { show } from '../show.ts';
import { type BoundLoop, type BoundMode, type BoundTool, boundMode } from './bound-loop.ts';
import { checkBuilt, type Owner, runFactory } from './build.ts';
import { Disposal } from './disposal.ts';

/** What a loop is bound with: whose it is, what its tools are given, and tools beside its own. Only own properties count as bindings. */
export interface LoopBindings extends Partial<BindingTypes> {
  /** The session that will own the tools. Nonblank, and not the nil UUID. */
  readonly sessionId: string;
  /** The loop within it. Nonblank, and not the nil UUID. */
  readonly loopId: string;
  /** Appended to the tools of every mode. */
  readonly extraTools?: readonly ToolDefinition[] | undefined;
  /** Tools of the loop that this session does without: they are not built. */
  readonly omitTools?: readonly ToolDefinition[] | undefined;
}

/** How a bind runs. */
export interface BindOptions {
  /** Ends the bind: it is refused with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** The clock by which the time of a disposer is over. Default: the platform's. */
  readonly clock?: Clock | undefined;
}

/** What of a definition is bound. */
export interface BindableLoop {
  readonly name: string;
  /** The base mode first. */
  readonly modes: readonly ModeDefinition[];
  /** `undefined` for the base mode. */
  readonly initialMode: string | undefined;
  readonly middlewares: readonly ToolMiddleware[];
  readonly behaviour: LoopBehaviour;
  readonly output: ResolvedSchema | undefined;
  readonly gate: LoopGate;
}

/** Binds a loop. Rejects with `BindError`, and then has disposed of what it had built. */
export async function bindLoop(
  loop: BindableLoop,
  bindings: LoopBindings,
  options: BindOptions = {},
): Promise<BoundLoop> {
  const { signal, clock = systemClock } = options;
  requireNotAborted(signal);
  const owner = resolveOwner(bindings);
  const extras = resolveExtras(read(bindings, 'extraTools'));
  const omitted: ReadonlySet<unknown> = new Set(copyList(read(bindings, 'omitTools')) ?? []);
  const ownTools = (mode: ModeDefinition) => mode.tools.filter(tool => !omitted.has(tool));
  const definitions = [...new Set([...loop.modes.flatMap(ownTools), ...extras])];
  const given = definitions.map(definition => factoryBindings(definition, bindings, owner));
  requireDistinctNames(definitions);

  const disposal = new Disposal(clock);
  const built = new Map<ToolDefinition, readonly BoundTool[]>();
  try {
    for (const [index, definition] of definitions.entries()) {
      requireNotAborted(signal);
      const returned = await settledOrAborted(runFactory(definition, given[index]!), disposal, signal);
      built.set(definition, checkBuilt(definition, returned, owner));
    }
    requireNotAborted(signal);
    requireDistinctTools([...built.values()].flat());
    const modes = loop.modes.map(mode => boundMode(mode, toolsOf([...ownTools(mode), ...extras], built)));
    return createBoundLoop(loop, owner, modes, disposal);
  } catch (error) {
    await disposal.run(); // why the bind failed matters more than what a disposer threw on the way out
    throw error;
  }
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000';

function resolveOwner(bindings: LoopBindings): Owner {
  const sessionId = resolveId(bindings, 'sessionId', 'invalid_session_id');
  return Object.freeze({ sessionId, loopId: resolveId(bindings, 'loopId', 'invalid_loop_id') });
}

function resolveId(bindings: LoopBindings, name: keyof Owner, kind: 'invalid_session_id' | 'invalid_loop_id'): string {
  const id = read(bindings, name);
  if (typeof id === 'string' && id.trim() !== '' && id.trim() !== NIL_UUID) return id;
  throw new BindError(kind, `"${name}" must be a nonblank string that is not the nil UUID, not ${show(id)}`);
}

/** A binding, or `undefined` for one that is absent or cannot be read. Own ones only: `toString` is nobody's binding. */
function read(bindings: unknown, name: string): unknown {
  if (typeof bindings !== 'object' || bindings === null) return undefined;
  try {
    return Object.hasOwn(bindings, name) ? Reflect.get(bindings, name) : undefined;
  } catch {
    return undefined;
  }
}

function resolveExtras(given: unknown): readonly ToolDefinition[] {
  if (given === undefined) return [];
  const extras = copyList(given);
  if (extras === undefined) {
    throw new BindError('invalid_definition', `"extraTools" must be a list of tool definitions, not ${show(given)}`);
  }
  extras.forEach((extra, index) => {
    const problem = problemWithDefinition(extra);
    if (problem === undefined) return;
    throw new BindError('invalid_definition', `"extraTools[${index}]" ${problem.reason}`, { index });
  });
  return extras as ToolDefinition[];
}

/** Exactly the two ids and what the definition asked for. Throws `missing_binding`. */
function factoryBindings(
  definition: ToolDefinition,
  bindings: LoopBindings,
  owner: Owner,
): FactoryBindings<BindingName> {
  const required = definition.requires.map(name => {
    const binding = read(bindings, name);
    const problem = problemWithBinding(name, binding);
    if (problem === undefined) return [name, binding];
    const message = `"${definition.name}" requires the binding "${name}", ${problem}`;
    throw new BindError('missing_binding', message, { definition: definition.name, binding: name });
  });
  return Object.freeze({ ...Object.fromEntries(required), ...owner });
}

/** How a program that opens sessions by a rig gives what is missing. */
function remedyFor(name: BindingName): string {
  if (name === 'workspace') return 'give the rig a folder, as defineRig({ workspace: "." }) does';
  if (name === 'secrets') return 'give the rig "secrets"';
  if (name === 'captures' || name === 'delegation') return 'a rig gives it to the sessions that it opens';
  return `give it to the rig, among its "bindings"`;
}

function problemWithBinding(name: BindingName, binding: unknown): string | undefined {
  if (binding === undefined || binding === null) return `which is not there: ${remedyFor(name)}`;
  if (name !== 'workspace') return undefined;
  let root: unknown;
  try {
    root = Reflect.get(Object(binding), 'root');
  } catch {
    return 'whose "root" cannot be read';
  }
  return typeof root === 'string' && root.trim() !== '' ? undefined : `whose "root" must be a path, not ${show(root)}`;
}

function requireDistinctNames(definitions: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const { name } of definitions) {
    if (seen.has(name)) {
      const message = `two different definitions are named "${name}": use one of them, or give one another name`;
      throw new BindError('duplicate_definition_name', message, { definition: name });
    }
    seen.add(name);
  }
}

function requireDistinctTools(tools: readonly BoundTool[]): void {
  const seen = new Map<string, string>();
  for (const { info, definition } of tools) {
    const other = seen.get(info.name);
    if (other !== undefined) {
      const message = `"${other}" and "${definition}" both build a tool named "${info.name}": the model could not tell them apart`;
      throw new BindError('duplicate_tool_name', message, { definition, tool: info.name });
    }
    seen.set(info.name, definition);
  }
}

/**
 * What a factory returned, owned by `disposal`. Throws `aborted` when the signal is, without waiting for a factory that does not end;
 * what that one still returns is disposed of when it comes.
 */
function settledOrAborted(
  factory: Promise<unknown>,
  disposal: Disposal,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isAbandoned = false;
    // A factory that ends together with the abort is given one turn of the event loop, so that its tools are disposed of in order.
    const abandon = (): void => {
      systemClock.setTimer(() => {
        isAbandoned = true;
        reject(aborted(signal));
      }, 0);
    };
    const ended = (settle: () => void): void => {
      signal?.removeEventListener('abort', abandon);
      if (signal?.aborted) reject(aborted(signal));
      else settle();
    };
    factory.then(
      returned => {
        const owner = isAbandoned ? disposal.another() : disposal;
        owner.own(returned);
        if (isAbandoned) void owner.run();
        ended(() => resolve(returned));
      },
      error => ended(() => reject(error)),
    );
    if (signal?.aborted) abandon();
    else signal?.addEventListener('abort', abandon, { once: true });
  });
}

function requireNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

function aborted(signal: AbortSignal | undefined): BindError {
  return new BindError('aborted', 'the bind was aborted', { cause: signal?.reason });
}

function toolsOf(
  definitions: readonly ToolDefinition[],
  built: ReadonlyMap<ToolDefinition, readonly BoundTool[]>,
): readonly BoundTool[] {
  return [...new Set(definitions)].flatMap(definition => built.get(definition) ?? []);
}

function createBoundLoop(loop: BindableLoop, owner: Owner, modes: readonly BoundMode[], disposal: Disposal): BoundLoop {
  const byName = new Map(modes.map(mode => [mode.name, mode]));
  const initialMode = byName.get(loop.initialMode ?? '')!;
  const { tools, limits, model, system } = initialMode;
  return Object.freeze({
    name: loop.name,
    ...owner,
    modes: Object.freeze(modes),
    mode: (name: string) => byName.get(name),
    initialMode,
    ...{ tools, limits, model, system },
    behaviour: loop.behaviour,
    middleware: composeMiddlewares(loop.middlewares),
    output: loop.output,
    gate: loop.gate,
    async [Symbol.asyncDispose]() {
      const errors = await disposal.run();
      if (errors.length > 0)
        throw new AggregateError(errors, `${errors.length} tools of loop "${loop.name}" could not be disposed of`);
    },
  });
}
