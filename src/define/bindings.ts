/**
 * What a session hands to the factories of its tools. A definition names what it needs in `requires`, and its factory
 * gets exactly `sessionId`, `loopId` and that, nothing more.
 */

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

/**
 * The bindings that a definition may require, by name. Programs add their own by declaration merging:
 * `declare module 'looprig' { interface BindingTypes { database: Database } }`.
 */
export interface BindingTypes {
  workspace: Workspace;
  captures: Captures;
  secrets: Secrets;
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
