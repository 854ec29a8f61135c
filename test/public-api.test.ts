/** What the package exports, and what it does not: a change here is a change for every user. */
import { expect, it } from 'vitest';

it('the root exports these values and no others', async () => {
  expect(Object.keys(await import('looprig')).sort()).toEqual([
    'BindError',
    'DEFAULT_TOOL_LIMITS',
    'DefinitionError',
    'EVENT_DURABILITY',
    'GateError',
    'HistoryError',
    'JournalConflictError',
    'JournalError',
    'LooprigError',
    'ModelError',
    'OutputError',
    'STRUCTURED_OUTPUT_TOOL_NAME',
    'SessionBusyError',
    'SessionError',
    'ToolLimitError',
    'ToolOwnershipError',
    'TurnInterruptedError',
    'TurnTimeoutError',
    'WorkspaceError',
    'assertNever',
    'defineLoop',
    'defineRig',
    'defineTool',
    'defineToolset',
    'isTerminal',
    'isToolResult',
    'liveTool',
    'memoryStore',
    'systemClock',
    'toolError',
    'toolResult',
  ]);
});

it('the testing kit exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/testing')).sort()).toEqual([
    'ScriptExhaustedError',
    'assertPaired',
    'collect',
    'forever',
    'journalStoreKit',
    'manualClock',
    'recordedTools',
    'replayModel',
    'scriptedModel',
    'scriptedTool',
    'standInTools',
  ]);
});
