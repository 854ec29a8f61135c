/**
 * Loop definitions: what an agent loop is, as frozen data that knows no session. `bind` joins one to a session; everything about it
 * is checked here, once, so that nothing later asks again.
 */
import { type BindableLoop, type BindOptions, bindLoop, type LoopBindings } from '../bind/bind.ts';
import type { BoundLoop } from '../bind/bound-loop.ts';
import type { AnyLanguageModel, LanguageModel, ModelSettings } from '../model/model.ts';
import { type ModelIdentity, modelIdentity } from '../model/resolve.ts';
import type { BehaviourOptions, LoopBehaviour } from './behaviour.ts';
import type { LoopGate, LoopGateOptions } from './gate.ts';
import type { ResolvedToolLimits, ToolLimits } from './limits.ts';
import { type LoopParts, readParts } from './loop-parts.ts';
import type { ToolMiddleware } from './middleware.ts';
import { type ModeDefinition, type ModeOptions, modeOver } from './mode.ts';
import { policyRevision } from './policy.ts';
import type { InferSchema, ResolvedSchema, SchemaLike } from './schema.ts';
import type { ToolDefinition } from './tool.ts';

interface PlainLoopOptions<Name extends string, Schema extends SchemaLike> extends BehaviourOptions {
  /** The name of the loop. Nonblank. */
  readonly name: Name;
  /** The model that answers: an AI SDK language model object, of specification v4, v3 or v2. */
  readonly model: AnyLanguageModel;
  /** Base instructions. Default none. */
  readonly system?: string | undefined;
  /** The tools of the base mode, and of each mode that lists none. A definition listed twice stays once. Default none. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** Wrap each tool call, the first outermost. Default none. */
  readonly middlewares?: readonly ToolMiddleware[] | undefined;
  /** Limits of a turn. Default `DEFAULT_TOOL_LIMITS`. */
  readonly limits?: ToolLimits | undefined;
  /** Request settings: temperature, maxOutputTokens and the like. Default none: the provider's. */
  readonly settings?: ModelSettings | undefined;
  /** The schema of the final answer, an object at its root. Default none: the answer is text. */
  readonly output?: Schema | undefined;
  /** Who may do what, beside the rules of the rig: deny beats allow, wherever it stands. Default: no rules. */
  readonly gate?: LoopGateOptions | undefined;
  /** What the loop is for, for people. Changes no behaviour. */
  readonly description?: string | undefined;
  /** The loop's name for people. Changes no behaviour. */
  readonly displayName?: string | undefined;
}

/** Modes and the one a session starts in: both or neither. */
type ModeChoice<Added extends string, Known extends string = never> =
  | {
      /** The ways in which the loop can work, by name. `""` is the base mode and cannot be declared. */
      readonly modes: { readonly [Mode in Added]: ModeOptions };
      /** The mode that a session starts in. Required where there are modes. */
      readonly initialMode: NoInfer<Added | Known>;
    }
  | { readonly modes?: undefined; readonly initialMode?: undefined };

/** What `defineLoop` takes. */
export type LoopOptions<
  Name extends string = string,
  ModeName extends string = string,
  Schema extends SchemaLike = SchemaLike,
> = PlainLoopOptions<Name, Schema> & ModeChoice<ModeName>;

/** What `extend` takes: `tools`, `middlewares` and `modes` are appended, every other option replaces. */
export type ExtendOptions<
  Name extends string,
  ModeName extends string,
  Added extends string,
  Schema extends SchemaLike,
> = Partial<PlainLoopOptions<Name, Schema>> &
  ([ModeName] extends [never]
    ? ModeChoice<Added>
    : {
        readonly modes?: { readonly [Mode in Added]: ModeOptions } | undefined;
        readonly initialMode?: NoInfer<ModeName | Added> | undefined;
      });

/** What identifies how a session of a loop begins. */
export interface LoopFingerprint {
  readonly model: ModelIdentity;
  /** The effective system text; empty if there is none. */
  readonly system: string;
  /** The model-facing names of the tools, in their order. */
  readonly tools: readonly string[];
}

/** A loop, defined: frozen, reusable, and without a session. Made by `defineLoop` alone. */
export interface LoopDefinition<Name extends string = string, ModeName extends string = string, Output = unknown> {
  /** What a rig and its sessions know it by. */
  readonly name: Name;
  /** Model, system text, limits and settings of the base mode. */
  readonly model: LanguageModel;
  /** The system text; `""` for none. */
  readonly system: string;
  /** What a turn may use. */
  readonly limits: ResolvedToolLimits;
  /** What goes with each request of the model. */
  readonly settings: ModelSettings;
  /** All modes in force: the base mode `""` first, then the declared ones in their order. */
  readonly modes: readonly ModeDefinition<ModeName | ''>[];
  /** The mode that a session starts in; `undefined` for the base mode, where there is no other. */
  readonly initialMode: ModeName | undefined;
  /** What stands round each call, the outermost first. */
  readonly middlewares: readonly ToolMiddleware[];
  /** How its turns go on at limits, failures and the end. */
  readonly behaviour: LoopBehaviour;
  /** The schema of the final answer, if it has one. */
  readonly output: ResolvedSchema | undefined;
  /** Its rules about what calls may do. */
  readonly gate: LoopGate;
  /** What it is good for. */
  readonly description: string | undefined;
  /** Its name for people. */
  readonly displayName: string | undefined;
  /** SHA-256, as hexadecimal text, over what changes behaviour. The order of modes and tools, and names for people, do not change it. */
  readonly policyRevision: string;
  /** The type of the final answer. Exists for the compiler only. */
  readonly [OUTPUT_TYPE]?: Output;

  /**
   * A new definition: `tools`, `middlewares` and `modes` appended, every other option replaced. This one stays as it is. Throws
   * `DefinitionError`; a mode of a name that exists is refused with `invalid_mode`.
   */
  extend<
    const NewName extends string = Name,
    const Added extends string = never,
    const Schema extends SchemaLike = never,
  >(
    options: ExtendOptions<NewName, ModeName, Added, Schema>,
  ): LoopDefinition<NewName, ModeName | Added, [Schema] extends [never] ? Output : InferSchema<Schema>>;
  /** Every declared tool definition of base and modes, once each. Runs no factory. */
  tools(): readonly ToolDefinition[];
  /** The initial model, the effective system text and the tool names. Runs no factory. */
  fingerprint(): LoopFingerprint;
  /** Runs the factories of all tools for one session. Rejects with `BindError`, and then has disposed of what it had built. */
  bind(bindings: LoopBindings, options?: BindOptions): Promise<BoundLoop<ModeName>>;
}

declare const OUTPUT_TYPE: unique symbol;
const LOOP_DEFINITION = Symbol.for('looprig.loop-definition');

/**
 * Defines a loop: checks every option and freezes the result. Throws `DefinitionError` with the path of the option that cannot be
 * taken; an unknown option is refused.
 */
export function defineLoop<
  const Name extends string,
  const ModeName extends string = never,
  const Schema extends SchemaLike = SchemaLike,
>(options: LoopOptions<Name, ModeName, Schema>): LoopDefinition<Name, ModeName, InferSchema<Schema>> {
  return new DefinedLoop(readParts(options)) as unknown as LoopDefinition<Name, ModeName, InferSchema<Schema>>;
}

/** Whether `value` was made by `defineLoop`, of any copy of the package. */
export function isLoopDefinition(value: unknown): value is LoopDefinition {
  try {
    return typeof value === 'object' && value !== null && Reflect.get(value, LOOP_DEFINITION) === true;
  } catch {
    return false; // a proxy that will not be looked at
  }
}

class DefinedLoop implements BindableLoop {
  readonly name: string;
  readonly model: LanguageModel;
  readonly system: string;
  readonly limits: ResolvedToolLimits;
  readonly settings: ModelSettings;
  readonly modes: readonly ModeDefinition[];
  readonly initialMode: string | undefined;
  readonly middlewares: readonly ToolMiddleware[];
  readonly behaviour: LoopBehaviour;
  readonly output: ResolvedSchema | undefined;
  readonly gate: LoopGate;
  readonly description: string | undefined;
  readonly displayName: string | undefined;
  readonly #parts: LoopParts;
  #policyRevision: string | undefined;

  static {
    Object.defineProperty(DefinedLoop.prototype, LOOP_DEFINITION, { value: true });
  }

  constructor(parts: LoopParts) {
    const { base, modes } = parts;
    this.#parts = parts;
    this.name = parts.name;
    this.model = base.model;
    this.system = base.system;
    this.limits = base.limits;
    this.settings = base.settings;
    this.modes = Object.freeze([base, ...[...modes].map(([name, mode]) => modeOver(base, name, mode))]);
    this.initialMode = parts.initialMode;
    this.middlewares = parts.middlewares;
    this.behaviour = parts.behaviour;
    this.output = parts.output;
    this.gate = parts.gate;
    this.description = parts.description;
    this.displayName = parts.displayName;
    Object.freeze(this);
  }

  get policyRevision(): string {
    this.#policyRevision ??= policyRevision(this);
    return this.#policyRevision;
  }

  extend(options: unknown): DefinedLoop {
    return new DefinedLoop(readParts(options, this.#parts));
  }

  tools(): readonly ToolDefinition[] {
    return Object.freeze([...new Set(this.modes.flatMap(mode => mode.tools))]);
  }

  fingerprint(): LoopFingerprint {
    const initial = this.modes.find(mode => mode.name === (this.initialMode ?? ''))!;
    const tools = Object.freeze(initial.tools.flatMap(tool => tool.produces));
    return Object.freeze({ model: modelIdentity(initial.model), system: initial.system, tools });
  }

  bind(bindings: LoopBindings, options?: BindOptions): Promise<BoundLoop> {
    return bindLoop(this, bindings, options);
  }
}
