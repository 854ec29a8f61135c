/**
 * What a session hands to the factories of its tools. A definition names what it needs in `requires`, and its factory
 * gets exactly `sessionId`, `loopId` and that, nothing more.
 */

import type { ToolLimits } from './limits.ts';
import type { ToolCall, ToolResult } from './live-tool.ts';
import type { LoopDefinition } from './loop.ts';

/** A folder that tools work in, and cannot leave. */
export interface Workspace {
  /** The real, absolute path of the folder. */
  readonly root: string;
  /**
   * The real, absolute path for `path`, which is taken relative to the root. What does not exist yet is placed under its
   * nearest existing folder. Throws `WorkspaceError` for what leads out of the root, by `..` or by a symbolic link.
   */
  resolve(path: string): Promise<string>;
  /** The path of `absolute` relative to the root, with `/` between its parts; `.` for the root. For showing to people and models. */
  relative(absolute: string): string;
}

/** Large results, kept whole beside the journal. */
export interface Captures {
  /** Keeps `bytes` and gives the id under which they can be read again. */
  put(bytes: Uint8Array): Promise<string>;
  /** The bytes kept under `id`, or `undefined`. */
  get(id: string): Promise<Uint8Array | undefined>;
}

/** Named secrets, by need: a tool that requires `secrets` can read them, nothing else can, and they are never written down. */
export interface Secrets {
  get(name: string): string | undefined;
}

/** What a delegate is asked to do. */
export interface DelegateRequest {
  /** The loop that does it, in a session of its own. */
  readonly loop: LoopDefinition;
  /** Its user message. */
  readonly message: string;
  /** Limits of its turn, over the loop's own. */
  readonly limits?: ToolLimits;
}

/** Runs other loops for a tool. Supplied by the rig; `delegate` makes tools that use it. */
export interface Delegation {
  /** Runs the loop in the child session of this call, or takes it up, and gives its answer. Never rejects for how the child's turn ended. */
  run(request: DelegateRequest, call: ToolCall): Promise<ToolResult>;
}

/**
 * The bindings that a definition may require, by name. Programs add their own by declaration merging:
 * `declare module 'looprig' { interface BindingTypes { database: Database } }`.
 */
export interface BindingTypes {
  workspace: Workspace;
  captures: Captures;
  secrets: Secrets;
  delegation: Delegation;
}

/** The name of a binding that a definition may require. */
export type BindingName = keyof BindingTypes & string;

/** What a factory gets: the two ids, and the bindings it asked for. */
export type FactoryBindings<Required extends BindingName = never> = {
  /** The session that the tools are built for. */
  readonly sessionId: string;
  /** The loop within it. */
  readonly loopId: string;
} & { readonly [Name in Required]: BindingTypes[Name] };
