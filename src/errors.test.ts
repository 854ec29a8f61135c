import { describe, expect, test } from 'vitest';
import {
  BindError,
  DefinitionError,
  describeLimit,
  GateError,
  HistoryError,
  JournalConflictError,
  JournalDamagedError,
  JournalError,
  type LimitReached,
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

const reached: LimitReached = {
  limit: 'calls',
  iterations: 3,
  maxIterations: 25,
  calls: 101,
  maxCalls: 100,
  tokens: 50,
  maxTokens: 40,
};

const errors = [
  { error: new DefinitionError('missing_name', { field: 'name', message: 'm' }), kind: 'missing_name' },
  { error: new BindError('aborted', 'm'), kind: 'aborted' },
  { error: new ToolOwnershipError('read', 'session a', 'session b'), kind: 'tool_ownership' },
  { error: new ToolLimitError(reached), kind: 'tool_limit' },
  { error: new TurnTimeoutError(5), kind: 'turn_timeout' },
  { error: new ModelError('empty_response', 'm', { attempts: 1 }), kind: 'empty_response' },
  { error: new OutputError(['n: no number'], 3), kind: 'invalid_output' },
  { error: new SessionError('closed', 'm'), kind: 'closed' },
  { error: new SessionBusyError(), kind: 'busy' },
  { error: new TurnInterruptedError('enough'), kind: 'interrupted' },
  { error: new HistoryError(2, 'm'), kind: 'invalid_history' },
  { error: new JournalError('store_failed', 'm'), kind: 'store_failed' },
  { error: new JournalConflictError('s1', 4, 5), kind: 'conflict' },
  { error: new JournalDamagedError('s1', 4, 'm'), kind: 'damaged' },
  { error: new GateError('unknown_gate', 'g1', 'm'), kind: 'unknown_gate' },
  { error: new WorkspaceError('not_found', 'a/b', 'm'), kind: 'not_found' },
].map(each => ({ ...each, type: each.error.constructor.name }));

describe.each(errors)('$type', ({ error, kind, type }) => {
  test('is an Error and a LooprigError with its kind, its name and a message of one line', () => {
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(LooprigError);
    expect(LooprigError.is(error)).toBe(true);
    expect(error.kind).toBe(kind);
    expect(error.name).toBe(type);
    expect(String(error)).toBe(`${type}: ${error.message}`);
    expect(error.message).toMatch(/^[^\n]+$/);
  });

  test('is known by its own class and by no unrelated one', () => {
    expect(DefinitionError.is(error)).toBe(error instanceof DefinitionError);
    expect(BindError.is(error)).toBe(error instanceof BindError);
    expect(ToolLimitError.is(error)).toBe(error instanceof ToolLimitError);
    expect(SessionError.is(error)).toBe(error instanceof SessionError);
    expect(JournalError.is(error)).toBe(error instanceof JournalError);
    expect(WorkspaceError.is(error)).toBe(error instanceof WorkspaceError);
  });
});

describe('is', () => {
  test('knows a derived class as its base, and not the other way round', () => {
    expect(SessionError.is(new SessionBusyError())).toBe(true);
    expect(SessionBusyError.is(new SessionError('closed', 'm'))).toBe(false);
    expect(JournalError.is(new JournalConflictError('s1', 4, 5))).toBe(true);
  });

  test('knows the error of another copy of the package', () => {
    const brands = Object.fromEntries(
      ['LooprigError', 'BindError'].map(name => [Symbol.for(`looprig.error.${name}`), true]),
    );
    const foreign = Object.assign(new Error('m'), brands);

    expect(foreign).not.toBeInstanceOf(BindError);
    expect(BindError.is(foreign)).toBe(true);
    expect(LooprigError.is(foreign)).toBe(true);
    expect(DefinitionError.is(foreign)).toBe(false);
  });

  test.each([undefined, null, 'error', 5, {}, new Error('m'), () => 1])('does not know %s', value => {
    expect(LooprigError.is(value)).toBe(false);
  });
});

describe('cause', () => {
  test('is the original failure where there was one, whatever it was', () => {
    const cause = new Error('disk');

    expect(new BindError('factory_failed', 'm', { cause }).cause).toBe(cause);
    expect(new ModelError('request_failed', 'm', { attempts: 1, cause }).cause).toBe(cause);
    expect('cause' in new BindError('factory_failed', 'm', { cause: undefined })).toBe(true);
  });

  test('is absent where there was none', () => {
    expect('cause' in new BindError('aborted', 'm')).toBe(false);
    expect('cause' in new DefinitionError('missing_name', { field: 'name', message: 'm' })).toBe(false);
  });
});

test('a definition error names the field and what stood there', () => {
  const error = new DefinitionError('invalid_tool_limits', { field: 'limits.calls', message: 'm', value: -1 });

  expect(error).toMatchObject({ field: 'limits.calls', value: -1 });
  expect('value' in new DefinitionError('missing_name', { field: 'name', message: 'm' })).toBe(false);
});

test('a bind error has the fields of its kind, and no others', () => {
  const full = {
    definition: 'files',
    tool: 'read',
    index: 0,
    binding: 'workspace',
    declared: ['a'],
    actual: ['b'],
  };

  expect({ ...new BindError('invalid_tool', 'm', full) }).toStrictEqual({ kind: 'invalid_tool', ...full });
  expect({ ...new BindError('aborted', 'm', { definition: undefined }) }).toStrictEqual({ kind: 'aborted' });
});

describe('a limit error', () => {
  test('has the limit and all counts', () => {
    expect(new ToolLimitError(reached)).toMatchObject(reached);
    expect('repeated' in new ToolLimitError(reached)).toBe(false);
  });

  test.each([
    {
      limit: 'iterations' as const,
      said: 'the model asked for tools in 3 steps, 25 are allowed in one turn',
    },
    { limit: 'calls' as const, said: 'the model asked for 101 tool calls, 100 are allowed in one turn' },
    { limit: 'tokens' as const, said: 'the turn used 50 tokens, 40 are allowed' },
    {
      limit: 'repeat' as const,
      said: 'the model called "read" with the same arguments and got the same result 6 times in a row',
    },
  ])('says in words that $limit was reached', ({ limit, said }) => {
    const at = { ...reached, limit, repeated: { toolName: 'read', times: 6 } };

    expect(describeLimit(at)).toBe(said);
    expect(new ToolLimitError(at).message).toBe(`turn stopped at a limit: ${said}`);
  });
});

test('messages carry what a person needs to go on', () => {
  expect(new ToolOwnershipError('read', 'session a', 'session b').message).toBe(
    'tool "read" was built for session a and cannot run for session b: bind the definition there too',
  );
  expect(new TurnTimeoutError(5).message).toBe('the turn ran longer than its limit of 5 ms (turnTimeoutMs)');
  expect(new OutputError(['n: no number', 'm: missing'], 3).message).toBe(
    'the final answer did not fit the output schema in 3 attempts: n: no number; m: missing',
  );
  expect(new TurnInterruptedError('enough').message).toBe('the turn was interrupted: enough');
  expect(new TurnInterruptedError(undefined).message).toBe('the turn was interrupted');
  expect(new HistoryError(2, 'has two results').message).toBe('history message 2: has two results');
  expect(new JournalConflictError('s1', 4, 5)).toMatchObject({ sessionId: 's1', expectedSeq: 4, actualSeq: 5 });
  expect(new GateError('closed_gate', 'g1', 'm').gateId).toBe('g1');
  expect(new WorkspaceError('not_found', 'a/b', 'm').path).toBe('a/b');
});
