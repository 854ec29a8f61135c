/**
 * looprig: an agent loop whose tool use is bounded, honest and durable.
 */

export { DEFAULT_TOOL_LIMITS } from './define/limits.ts';
export { defineLoop } from './define/loop.ts';
// Declare: tools, loops and what they may use. Everything here is frozen data.
export {
  defineTool,
  defineToolset,
  liveTool,
  STRUCTURED_OUTPUT_TOOL_NAME,
  toolError,
  toolResult,
} from './define/tool.ts';
// Recognise what went wrong, by class and `kind`.
export {
  BindError,
  DefinitionError,
  GateError,
  HistoryError,
  JournalConflictError,
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
export { assertNever, EVENT_DURABILITY, isTerminal } from './events/events.ts';
export { memoryStore } from './journal/memory.ts';
// Run: a rig opens sessions, a session runs turns.
export { defineRig } from './session/rig.ts';
