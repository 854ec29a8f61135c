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
    'JournalDamagedError',
    'JournalError',
    'LooprigError',
    'ModelError',
    'OutputError',
    'READ_TOOL_RESULT_TOOL_NAME',
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
    'delegate',
    'delegateEventOf',
    'deleteSession',
    'isTerminal',
    'isToolResult',
    'liveTool',
    'memoryStore',
    'recordedEvents',
    'summariseSession',
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
    'engineKit',
    'engineKitLoops',
    'faultyStore',
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

it('the AI SDK adapter exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/ai')).sort()).toEqual([
    'answersFrom',
    'chatStream',
    'fromAISDK',
    'toAISDK',
    'toUIMessageStream',
    'toUIMessages',
  ]);
});

it('the server exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/server')).sort()).toEqual([
    'ServerError',
    'createServer',
    'listen',
    'serverMetrics',
  ]);
});

it('the hosts and engines are these values and no others', async () => {
  expect(Object.keys(await import('looprig/engines')).sort()).toEqual([
    'EngineError',
    'createHost',
    'engineFromUrl',
    'localEngine',
  ]);
  expect(Object.keys(await import('looprig/pg-boss'))).toEqual(['pgBoss']);
  expect(Object.keys(await import('looprig/restate'))).toEqual(['restate']);
});

it('the MCP adapter exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/mcp')).sort()).toEqual([
    'MCP_CALL_ACTION',
    'McpError',
    'mcpToolset',
    'parseMcpServer',
  ]);
});

it('the ready-made middlewares are exported together, and each by itself', async () => {
  expect(Object.keys(await import('looprig/middleware')).sort()).toEqual([
    'cache',
    'logCalls',
    'rateLimit',
    'redact',
    'retry',
  ]);
  expect(Object.keys(await import('looprig/middleware/cache'))).toEqual(['cache']);
  expect(Object.keys(await import('looprig/middleware/log-calls'))).toEqual(['logCalls']);
  expect(Object.keys(await import('looprig/middleware/rate-limit'))).toEqual(['rateLimit']);
  expect(Object.keys(await import('looprig/middleware/redact'))).toEqual(['redact']);
  expect(Object.keys(await import('looprig/middleware/retry'))).toEqual(['retry']);
});

it('telemetry exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/otel')).sort()).toEqual(['openTelemetry', 'traceTools']);
});

it('the PostgreSQL store exports these values and no others', async () => {
  expect(Object.keys(await import('looprig/postgres')).sort()).toEqual(['migrate', 'postgresStore']);
});

it('what stores of others need are these values and no others', async () => {
  expect(Object.keys(await import('looprig/store')).sort()).toEqual([
    'deletedMeanwhile',
    'invalidPlace',
    'mailOfText',
    'recordsOfText',
    'requireGapFree',
    'textOfMail',
    'textOfRecords',
  ]);
});

it('the SQLite store exports this value and no other', async () => {
  expect(Object.keys(await import('looprig/sqlite'))).toEqual(['sqliteStore']);
});

it('reports export these values and no others', async () => {
  expect(Object.keys(await import('looprig/report')).sort()).toEqual([
    'readSession',
    'reportHtml',
    'reportJson',
    'viewOf',
  ]);
});
