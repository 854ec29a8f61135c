/**
 * looprig: an agent loop whose tool use is bounded, honest and durable.
 *
 * @packageDocumentation
 */

// Bind: what a definition becomes in the hands of one session.
export type { BindOptions, LoopBindings } from './bind/bind.ts';
export type { BoundLoop, BoundMode, BoundTool, BoundToolInfo } from './bind/bound-loop.ts';
export type { Clock, TimerHandle } from './clock.ts';
// Time: every timer of the core takes a clock.
export { systemClock } from './clock.ts';
export type { BehaviourOptions, LoopBehaviour } from './define/behaviour.ts';
export type {
  BindingName,
  BindingTypes,
  Captures,
  DelegateRequest,
  Delegation,
  FactoryBindings,
  Secrets,
  Workspace,
} from './define/bindings.ts';
export type { GateDecision, GateRule, LoopGate, LoopGateOptions, ResolvedRule } from './define/gate.ts';
export type { ResolvedToolLimits, ToolLimits } from './define/limits.ts';
export { DEFAULT_TOOL_LIMITS } from './define/limits.ts';
export type { ExtendOptions, LoopDefinition, LoopFingerprint, LoopOptions } from './define/loop.ts';
export { defineLoop } from './define/loop.ts';
export type { MiddlewareCall, MiddlewareNext, ToolMiddleware } from './define/middleware.ts';
export type { ModeDefinition, ModeOptions } from './define/mode.ts';
export type {
  InferSchema,
  JsonSchema,
  ResolvedSchema,
  SchemaIssue,
  SchemaLike,
  StandardSchema,
  Validation,
} from './define/schema.ts';
export type {
  AccessRequest,
  CreateToolOptions,
  ExecuteToolOptions,
  LiveTool,
  MaybePromise,
  Resource,
  ToolBudget,
  ToolCall,
  ToolCapabilities,
  ToolContent,
  ToolDefinition,
  ToolExecute,
  ToolInfo,
  ToolResult,
  ToolReturn,
  ToolsetTool,
} from './define/tool.ts';
// Declare: tools, loops and what they may use. Everything here makes frozen data.
export {
  defineTool,
  defineToolset,
  isToolResult,
  liveTool,
  READ_TOOL_RESULT_TOOL_NAME,
  STRUCTURED_OUTPUT_TOOL_NAME,
  toolError,
  toolResult,
} from './define/tool.ts';
export type {
  BindErrorKind,
  DefinitionErrorKind,
  JournalErrorKind,
  LimitName,
  LimitReached,
  ModelErrorKind,
  SessionErrorKind,
} from './errors.ts';
// Recognise what went wrong, by class and `kind`.
export {
  BindError,
  DefinitionError,
  GateError,
  HistoryError,
  JournalConflictError,
  JournalDamagedError,
  JournalError,
  LooprigError,
  ModelError,
  OutputError,
  SessionBusyError,
  SessionError,
  ToolLimitError,
  ToolOwnershipError,
  TurnInterruptedError,
  TurnTimeoutError,
  WorkspaceError,
} from './errors.ts';
export type { EventReader } from './events/event-reader.ts';
export type * from './events/events.ts';
// Watch: the events of turns and sessions, live and from a store.
export { assertNever, EVENT_DURABILITY, isTerminal } from './events/events.ts';
export { recordedEvents } from './events/projection.ts';
export type {
  CallOutcome,
  ErrorSummary,
  Incomplete,
  JournalEntry,
  JournalRecord,
  JournalStore,
  LeftBehind,
  RecordedLimitReached,
  RecordedLimits,
  ResultCapture,
  StoredSession,
  StoreListOptions,
  TurnTotals,
} from './journal/journal.ts';
export type { Mail, Mailbox, MailContent, StoreNews, WatchStore } from './journal/mailbox.ts';
// Keep: the journal, and where it is kept.
export { memoryStore } from './journal/memory.ts';
// Model and message types: those of the AI SDK provider specification, under the names that looprig uses.
export type * from './model/model.ts';
export type { ModelIdentity } from './model/resolve.ts';
export type {
  DoneResult,
  FailedResult,
  InterruptedResult,
  ReleasedResult,
  TurnError,
  TurnFigures,
  TurnResult,
} from './run/outcome.ts';
// Run: a rig opens sessions, a session runs turns, a turn has events and one result.
export { defineRig } from './session/define-rig.ts';
export type { DelegateEvent, DelegateOptions } from './session/delegate.ts';
// Delegate: a loop as a tool of another.
export { delegate, delegateEventOf } from './session/delegate.ts';
export type { DeleteOptions } from './session/deletion.ts';
export type { PendingGate } from './session/gate.ts';
export type { GateAnswer } from './session/gate-answer.ts';
export type { GateOptions } from './session/gate-options.ts';
export type { HistoryRepair } from './session/imported-history.ts';
export type { Steered } from './session/inbox.ts';
export type { UserInput } from './session/input.ts';
export type { OpenOptions, Rig, RigOptions, SessionOf } from './session/rig.ts';
export type { ReleaseOptions, Session, SubmitOptions, Unfinished } from './session/session.ts';
// Without a rig: the sessions of a store.
export { deleteSession, summariseSession } from './session/stored-sessions.ts';
export type { ListOptions, SessionSummary } from './session/summary.ts';
export type { Turn } from './session/turn.ts';
export type { TurnOptions } from './session/turn-limits.ts';
