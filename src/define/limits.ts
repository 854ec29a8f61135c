/** The limits of a turn: what is declared, and what it means where nothing is said. */

/** Limits as they are declared. Every field is a non-negative integer or `Infinity`; `0` and `undefined` mean the default. */
export interface ToolLimits {
  /** Tool iterations (steps in which the model asked for tools) in one turn. Default 25. */
  readonly iterations?: number | undefined;
  /** Tool calls in one turn, the failed and refused ones too. Default 100. */
  readonly calls?: number | undefined;
  /** Calls of one batch that run at the same time. Default 8. */
  readonly parallel?: number | undefined;
  /** UTF-8 bytes of one result that the model is shown; at least 256. Default 102,400. */
  readonly resultBytes?: number | undefined;
  /** One call's own running time in milliseconds; waiting for a person does not count. Default 600,000. */
  readonly callTimeoutMs?: number | undefined;
  /** One turn's running time in milliseconds; waiting for a person does not count. Default Infinity. */
  readonly turnTimeoutMs?: number | undefined;
  /** Tokens used by one turn, in and out, its delegates' included. Default Infinity. */
  readonly tokens?: number | undefined;
}

/** Limits in force: every field has a value. */
export type ResolvedToolLimits = { readonly [Field in keyof ToolLimits]-?: number };

/** The limits where nothing is declared. */
export const DEFAULT_TOOL_LIMITS: ResolvedToolLimits = Object.freeze({
  iterations: 25,
  calls: 100,
  parallel: 8,
  resultBytes: 102_400,
  callTimeoutMs: 600_000,
  turnTimeoutMs: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
});
