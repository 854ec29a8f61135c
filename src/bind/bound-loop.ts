/** What a bind gives: live tools, owned by one session's loop, and the modes that they are offered in. */
import type { LoopBehaviour } from '../define/behaviour.ts';
import type { LoopGate } from '../define/gate.ts';
import type { ResolvedToolLimits } from '../define/limits.ts';
import type { ComposedMiddleware } from '../define/middleware.ts';
import type { ModeDefinition } from '../define/mode.ts';
import type { ResolvedSchema } from '../define/schema.ts';
import { type LiveTool, type MaybePromise, modelTool, type ToolCall, type ToolReturn } from '../define/tool.ts';
import { ToolOwnershipError } from '../errors.ts';
import type { LanguageModel, ModelSettings, ModelTool } from '../model/model.ts';

/** What a bound tool is, for people and for the model. */
export interface BoundToolInfo {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as the model is told it. */
  readonly inputSchema: ModelTool['inputSchema'];
}

/** A live tool, checked, in the hands of its binding. The loop alone runs it. */
export class BoundTool {
  readonly info: BoundToolInfo;
  /** The name of the definition that it was built from. */
  readonly definition: string;
  /** The tool as the model is told about it. */
  readonly modelTool: ModelTool;
  readonly #schema: ResolvedSchema;
  readonly #live: LiveTool<unknown>;
  readonly #owner: { readonly sessionId: string; readonly loopId: string };
  readonly #renew: (() => BoundTool | undefined) | undefined;

  /** `renew` gives the tool that takes its place, where it says something else of itself by now. */
  constructor(
    info: BoundToolInfo,
    definition: string,
    schema: ResolvedSchema,
    live: LiveTool<unknown>,
    owner: { readonly sessionId: string; readonly loopId: string },
    renew?: () => BoundTool | undefined,
  ) {
    this.info = info;
    this.definition = definition;
    this.modelTool = modelTool(info.name, info.description, schema);
    this.#schema = schema;
    this.#live = live;
    this.#owner = owner;
    this.#renew = renew;
    Object.freeze(this);
  }

  /** The tool as it is by now: one of a toolset may say something else of itself than when it was bound. @internal */
  get current(): BoundTool {
    return this.#renew?.() ?? this;
  }

  /** What the tool says about itself, read from the live tool. */
  get live(): LiveTool<unknown> {
    return this.#live;
  }

  /** Checks arguments. The value given must be the caller's own: it may be handed on as it is. */
  validate(input: unknown): ReturnType<ResolvedSchema['validate']> {
    return this.#schema.validate(input);
  }

  /** Runs one call with validated input. Throws `ToolOwnershipError` for a call of another session or loop. */
  execute(input: unknown, call: ToolCall): MaybePromise<ToolReturn> {
    const owner = this.#owner;
    if (call.sessionId !== owner.sessionId || call.loopId !== owner.loopId) {
      const name = ({ sessionId, loopId }: { sessionId: string; loopId: string }): string =>
        `session ${sessionId}, loop ${loopId}`;
      throw new ToolOwnershipError(this.info.name, name(owner), name(call));
    }
    return this.#live.execute(input, call);
  }
}

/** One mode of a bound loop; the base mode's name is `""`. Frozen, the lists and limits in it too. */
export interface BoundMode {
  readonly name: string;
  /** Of specification v4, whatever the definition was given. */
  readonly model: LanguageModel;
  /** The effective system text; empty if there is none. */
  readonly system: string;
  readonly tools: readonly BoundTool[];
  readonly limits: ResolvedToolLimits;
  /** Request settings, the mode's over the loop's. */
  readonly settings: ModelSettings;
  /** The tool of that name, or `undefined`: own names only. */
  tool(name: string): BoundTool | undefined;
  /** The tools as the model is told about them; one list for all requests. */
  readonly modelTools: ModelTool[];
}

/** A mode with these tools: those that were built for it, or those that it has now. */
export function boundMode(mode: Omit<ModeDefinition, 'tools'>, tools: readonly BoundTool[]): BoundMode {
  const { name, model, system, limits, settings } = mode;
  const byName = new Map(tools.map(tool => [tool.info.name, tool]));
  const modelTools = tools.map(tool => tool.modelTool);
  Object.freeze(modelTools); // one list for all requests: a provider that changed it would change the next request too
  return Object.freeze({
    ...{ name, model, system, limits, settings, modelTools },
    tools: Object.freeze([...tools]),
    tool: (toolName: string) => byName.get(toolName),
  });
}

/** A mode as its tools are by now; the same one where none of them has changed. */
export function currentMode(mode: BoundMode): BoundMode {
  const tools = mode.tools.map(tool => tool.current);
  return tools.every((tool, index) => tool === mode.tools[index]) ? mode : boundMode(mode, tools);
}

/** A loop definition joined to a session: what a turn runs on. */
export interface BoundLoop<ModeName extends string = string> extends AsyncDisposable {
  readonly name: string;
  readonly sessionId: string;
  readonly loopId: string;
  /** The base mode first, then the declared ones in their order. */
  readonly modes: readonly BoundMode[];
  /** The mode of that name, `""` for the base mode, or `undefined`. */
  mode(name: ModeName | '' | (string & {})): BoundMode | undefined;
  /** The mode that a session starts in: the definition's `initialMode`, or the base mode. */
  readonly initialMode: BoundMode;
  /** Tools, limits, model and system text of the initial mode. */
  readonly tools: readonly BoundTool[];
  readonly limits: ResolvedToolLimits;
  readonly model: LanguageModel;
  readonly system: string;
  /** How turns behave: stream, limits' end, repeats, retries. */
  readonly behaviour: LoopBehaviour;
  /** The middlewares as one function, or `undefined` where there are none. */
  readonly middleware: ComposedMiddleware | undefined;
  /** The output schema, where the definition has one. */
  readonly output: ResolvedSchema | undefined;
  /** The loop's own rules about what calls may do. */
  readonly gate: LoopGate;
}
