/**
 * Every error that looprig throws or puts into an outcome. A program switches on the class and its literal `kind`, and
 * never parses a message; a message says what was wrong, where, and what would be right, in one line.
 *
 * Classes are recognised by a brand in the global symbol registry as well as by `instanceof`, so that two copies of
 * the package in one program know each other's errors: `DefinitionError.is(error)`.
 */

import { brandClass, LooprigError } from './looprig-error.ts';

export { LooprigError };

/** Why a definition was refused. */
export type DefinitionErrorKind =
  | 'missing_name'
  | 'invalid_model'
  | 'invalid_tool'
  | 'reserved_tool_name'
  | 'invalid_tool_name'
  | 'invalid_tool_schema'
  | 'invalid_tool_limits'
  | 'invalid_middleware'
  | 'invalid_mode'
  | 'missing_initial_mode'
  | 'invalid_initial_mode'
  | 'invalid_output_schema'
  | 'invalid_option';

/** A `define…` function was given something it cannot take. `field` is the path of the option, `value` what stood there. */
export class DefinitionError extends LooprigError<DefinitionErrorKind> {
  /** The option that is wrong, as a path such as `limits.calls`. */
  readonly field: string;
  /** What was given for it, where that may be shown. */
  declare readonly value?: unknown;

  static {
    brandClass(DefinitionError.prototype, 'DefinitionError');
  }

  constructor(
    kind: DefinitionErrorKind,
    details: { readonly field: string; readonly message: string; readonly value?: unknown; readonly cause?: unknown },
  ) {
    super(kind, details.message, details);
    this.field = details.field;
    if ('value' in details) this.value = details.value;
  }
}

/** Why a bind was refused. */
export type BindErrorKind =
  | 'aborted'
  | 'invalid_session_id'
  | 'invalid_loop_id'
  | 'invalid_definition'
  | 'missing_binding'
  | 'duplicate_definition_name'
  | 'left_behind'
  | 'factory_failed'
  | 'invalid_tool'
  | 'invalid_tool_info'
  | 'produced_names_mismatch'
  | 'duplicate_tool_name';

/**
 * A definition could not be bound. Which of the fields are there depends on the kind. (The definition's name is in
 * `definition`, since `name` of an error is the name of its class.)
 */
export class BindError extends LooprigError<BindErrorKind> {
  /** The definition concerned. */
  declare readonly definition?: string;
  /** The model-facing tool name concerned. */
  declare readonly tool?: string;
  /** The place of the tool in what its factory returned, from 0. */
  declare readonly index?: number;
  /** `missing_binding`: the binding that the definition requires and that is absent. */
  declare readonly binding?: string;
  /** `produced_names_mismatch`: the names that the definition declares. */
  declare readonly declared?: readonly string[];
  /** `produced_names_mismatch`: the names that its factory really built. */
  declare readonly actual?: readonly string[];

  static {
    brandClass(BindError.prototype, 'BindError');
  }

  constructor(
    kind: BindErrorKind,
    message: string,
    details: {
      readonly definition?: string | undefined;
      readonly tool?: string | undefined;
      readonly index?: number | undefined;
      readonly binding?: string;
      readonly declared?: readonly string[];
      readonly actual?: readonly string[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(kind, message, details);
    if (details.definition !== undefined) this.definition = details.definition;
    if (details.tool !== undefined) this.tool = details.tool;
    if (details.index !== undefined) this.index = details.index;
    if (details.binding !== undefined) this.binding = details.binding;
    if (details.declared !== undefined) this.declared = details.declared;
    if (details.actual !== undefined) this.actual = details.actual;
  }
}

/** A live tool was run for a session or a loop that it was not built for. */
export class ToolOwnershipError extends LooprigError<'tool_ownership'> {
  readonly tool: string;

  static {
    brandClass(ToolOwnershipError.prototype, 'ToolOwnershipError');
  }

  constructor(tool: string, owner: string, caller: string) {
    super(
      'tool_ownership',
      `tool "${tool}" was built for ${owner} and cannot run for ${caller}: bind the definition there too`,
    );
    this.tool = tool;
  }
}

/** Which limit a turn reached. */
export type LimitName = 'iterations' | 'calls' | 'tokens' | 'repeat';

/** What a turn had used when it reached a limit. Counts include the response that went beyond the limit. */
export interface LimitReached {
  /** Which limit it was. */
  readonly limit: LimitName;
  /** Responses that asked for tools, the one that went too far included. */
  readonly iterations: number;
  /** How many there might be. */
  readonly maxIterations: number;
  /** Calls that the model asked for, those that went too far included. */
  readonly calls: number;
  /** How many there might be. */
  readonly maxCalls: number;
  /** Tokens that were used. */
  readonly tokens: number;
  /** How many might be used. */
  readonly maxTokens: number;
  /** `repeat`: the tool that the model called again and again, and how many steps in a row. */
  readonly repeated?: { readonly toolName: string; readonly times: number };
}

/** A turn reached one of its limits: nothing of the batch that went beyond it has run. `session.continue()` takes it up again. */
export class ToolLimitError extends LooprigError<'tool_limit'> implements LimitReached {
  /** Which limit it was. */
  readonly limit: LimitName;
  /** Responses that asked for tools, the one that went too far included. */
  readonly iterations: number;
  /** How many there might be. */
  readonly maxIterations: number;
  /** Calls that the model asked for, those that went too far included. */
  readonly calls: number;
  /** How many there might be. */
  readonly maxCalls: number;
  /** Tokens that were used. */
  readonly tokens: number;
  /** How many might be used. */
  readonly maxTokens: number;
  /** `repeat`: the tool that the model called again and again, and how many steps in a row. */
  declare readonly repeated?: { readonly toolName: string; readonly times: number };

  static {
    brandClass(ToolLimitError.prototype, 'ToolLimitError');
  }

  constructor(reached: LimitReached) {
    super('tool_limit', `turn stopped at a limit: ${describeLimit(reached)}`);
    this.limit = reached.limit;
    this.iterations = reached.iterations;
    this.maxIterations = reached.maxIterations;
    this.calls = reached.calls;
    this.maxCalls = reached.maxCalls;
    this.tokens = reached.tokens;
    this.maxTokens = reached.maxTokens;
    if (reached.repeated !== undefined) this.repeated = reached.repeated;
  }
}

function allowed(count: number): string {
  return `${count} ${count === 1 ? 'is' : 'are'} allowed`;
}

/** One limit and how far the turn went, in words, for messages and for the model. */
export function describeLimit(reached: LimitReached): string {
  switch (reached.limit) {
    case 'iterations':
      return `the model asked for tools in ${reached.iterations} steps, ${allowed(reached.maxIterations)} in one turn`;
    case 'calls':
      return `the model asked for ${reached.calls} tool calls, ${allowed(reached.maxCalls)} in one turn`;
    case 'tokens':
      return `the turn used ${reached.tokens} tokens, ${allowed(reached.maxTokens)}`;
    case 'repeat':
      return `the model called "${reached.repeated?.toolName}" with the same arguments and got the same result ${reached.repeated?.times} times in a row`;
  }
}

/** A turn ran longer than `turnTimeoutMs`. What had finished is in its history. */
export class TurnTimeoutError extends LooprigError<'turn_timeout'> {
  /** The limit that was in force, in milliseconds. */
  readonly timeoutMs: number;

  static {
    brandClass(TurnTimeoutError.prototype, 'TurnTimeoutError');
  }

  constructor(timeoutMs: number) {
    super('turn_timeout', `the turn ran longer than its limit of ${timeoutMs} ms (turnTimeoutMs)`);
    this.timeoutMs = timeoutMs;
  }
}

/** Why the model gave no usable answer. */
export type ModelErrorKind =
  /** The request failed and is not to be tried again, or failed too often. `cause` is the provider's error. */
  | 'request_failed'
  /** The response broke off, too often. `cause` says how. */
  | 'stream_broken'
  /** The response held neither text nor a call. */
  | 'empty_response'
  /** The provider finished with an error and no content, too often. */
  | 'provider_error';

/** The model gave no usable answer. */
export class ModelError extends LooprigError<ModelErrorKind> {
  /** How often the request was made. */
  readonly attempts: number;

  static {
    brandClass(ModelError.prototype, 'ModelError');
  }

  constructor(kind: ModelErrorKind, message: string, options: { readonly attempts: number; readonly cause?: unknown }) {
    super(kind, message, options);
    this.attempts = options.attempts;
  }
}

/** The final answer did not fit the output schema after all retries. */
export class OutputError extends LooprigError<'invalid_output'> {
  /** What did not fit, path by path. */
  readonly issues: readonly string[];

  static {
    brandClass(OutputError.prototype, 'OutputError');
  }

  constructor(issues: readonly string[], attempts: number) {
    super(
      'invalid_output',
      `the final answer did not fit the output schema in ${attempts} attempts: ${issues.join('; ')}`,
    );
    this.issues = issues;
  }
}

/** Why a session refused what it was asked. */
export type SessionErrorKind =
  | 'busy'
  | 'closed'
  | 'unknown_mode'
  | 'unknown_loop'
  | 'unknown_session'
  | 'invalid_input'
  | 'invalid_option'
  | 'nothing_to_continue'
  | 'nothing_to_resume'
  | 'released'
  | 'idempotency_key_reused'
  | 'drift';

/** A session or rig refused a request. Nothing was changed. */
export class SessionError<Kind extends SessionErrorKind = SessionErrorKind> extends LooprigError<Kind> {
  static {
    brandClass(SessionError.prototype, 'SessionError');
  }
}

/** A turn is running, and what was asked for cannot wait for its end: `queue: 'reject'`, `resume`, `continue`. The message says what can be done. */
export class SessionBusyError extends SessionError<'busy'> {
  static {
    brandClass(SessionBusyError.prototype, 'SessionBusyError');
  }

  constructor(advice = 'wait for it, interrupt it, or submit with queue: "queue"') {
    super('busy', `a turn is running on this session: ${advice}`);
  }
}

/** A run threw because it was interrupted (only `session.run` throws it; a turn's result is a value). */
export class TurnInterruptedError extends LooprigError<'interrupted'> {
  static {
    brandClass(TurnInterruptedError.prototype, 'TurnInterruptedError');
  }

  constructor(reason: string | undefined) {
    super('interrupted', reason === undefined ? 'the turn was interrupted' : `the turn was interrupted: ${reason}`);
  }
}

/** A history from elsewhere cannot be taken over. `index` is the message concerned, from 0. */
export class HistoryError extends LooprigError<'invalid_history'> {
  /** The message concerned, from 0. */
  readonly index: number;

  static {
    brandClass(HistoryError.prototype, 'HistoryError');
  }

  constructor(index: number, message: string) {
    super('invalid_history', `history message ${index}: ${message}`);
    this.index = index;
  }
}

/** Why a journal could not be written or read. */
export type JournalErrorKind =
  /** A package that the store needs is not installed. */
  | 'missing_package'
  /** The store could not do it: a full disk, a locked file, a broken connection. The message says which. */
  | 'store_failed'
  /** Another writer appended to the session (`JournalConflictError`). */
  | 'conflict'
  /** What is stored is not what was written (`JournalDamagedError` where the place is known). */
  | 'damaged'
  /** The store's file belongs to another program. */
  | 'foreign_file'
  /** The store's file, or a session's journal, was written by a newer version of looprig. */
  | 'newer_format'
  /** The store was closed before. */
  | 'closed'
  /** The session was deleted while it was read. */
  | 'deleted'
  /** What was given as a place in the list of sessions is none. */
  | 'invalid_place'
  /** The session was released: what is recorded from now on is another process's to record. */
  | 'released';

/** The journal could not be written or read. No call ran whose record was not written. */
export class JournalError<Kind extends string = JournalErrorKind> extends LooprigError<Kind> {
  static {
    brandClass(JournalError.prototype, 'JournalError');
  }
}

/** A session's journal is not what was written: all before `seq` is whole, and nothing from there on is to be trusted. Other sessions are not concerned. */
export class JournalDamagedError extends JournalError<'damaged'> {
  readonly sessionId: string;
  /** The sequence number of the first record that is missing or was altered. */
  readonly seq: number;

  static {
    brandClass(JournalDamagedError.prototype, 'JournalDamagedError');
  }

  constructor(sessionId: string, seq: number, what: string, options: { readonly cause?: unknown } = {}) {
    super('damaged', `the journal of session ${sessionId} is damaged at record ${seq}: ${what}`, options);
    this.sessionId = sessionId;
    this.seq = seq;
  }
}

/** Another writer appended to this session: this one is stale and has stopped. */
export class JournalConflictError extends JournalError<'conflict'> {
  readonly sessionId: string;
  /** The sequence number at which this writer believed the journal to end. */
  readonly expectedSeq: number;
  /** The sequence number at which it really ends. */
  readonly actualSeq: number;

  static {
    brandClass(JournalConflictError.prototype, 'JournalConflictError');
  }

  constructor(sessionId: string, expectedSeq: number, actualSeq: number) {
    super(
      'conflict',
      `session ${sessionId} has another writer: its journal ends at ${actualSeq}, not at ${expectedSeq}; open the session again`,
    );
    this.sessionId = sessionId;
    this.expectedSeq = expectedSeq;
    this.actualSeq = actualSeq;
  }
}

/** An answer to a gate was refused, and ran nothing. */
export class GateError extends LooprigError<'unknown_gate' | 'closed_gate' | 'invalid_answer'> {
  /** The gate that was to be answered. */
  readonly gateId: string;

  static {
    brandClass(GateError.prototype, 'GateError');
  }

  constructor(kind: 'unknown_gate' | 'closed_gate' | 'invalid_answer', gateId: string, message: string) {
    super(kind, message);
    this.gateId = gateId;
  }
}

/** A path that a tool asked for is refused. */
export class WorkspaceError extends LooprigError<'outside_workspace' | 'invalid_path' | 'invalid_root' | 'not_found'> {
  /** The path as it was asked for. */
  readonly path: string;

  static {
    brandClass(WorkspaceError.prototype, 'WorkspaceError');
  }

  constructor(
    kind: 'outside_workspace' | 'invalid_path' | 'invalid_root' | 'not_found',
    path: string,
    message: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(kind, message, options);
    this.path = path;
  }
}
