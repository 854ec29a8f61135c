import { expectTypeOf, test } from 'vitest';
import {
  BindError,
  type BindErrorKind,
  DefinitionError,
  type DefinitionErrorKind,
  GateError,
  JournalConflictError,
  JournalError,
  LooprigError,
  ModelError,
  type ModelErrorKind,
  SessionBusyError,
  SessionError,
  ToolLimitError,
  ToolOwnershipError,
} from './errors.ts';

declare const caught: unknown;

test('is narrows to the class, and the kind to its words', () => {
  if (DefinitionError.is(caught)) {
    expectTypeOf(caught).toEqualTypeOf<DefinitionError>();
    expectTypeOf(caught.kind).toEqualTypeOf<DefinitionErrorKind>();
    expectTypeOf(caught.field).toEqualTypeOf<string>();
  }
  if (BindError.is(caught)) expectTypeOf(caught.kind).toEqualTypeOf<BindErrorKind>();
  if (ModelError.is(caught)) expectTypeOf(caught.kind).toEqualTypeOf<ModelErrorKind>();
  if (ToolLimitError.is(caught)) expectTypeOf(caught.kind).toEqualTypeOf<'tool_limit'>();
  if (SessionBusyError.is(caught)) expectTypeOf(caught.kind).toEqualTypeOf<'busy'>();
  if (JournalConflictError.is(caught)) expectTypeOf(caught.kind).toEqualTypeOf<'conflict'>();
  if (GateError.is(caught)) {
    expectTypeOf(caught.kind).toEqualTypeOf<'unknown_gate' | 'closed_gate' | 'invalid_answer'>();
  }
});

test('a union of errors narrows by kind', () => {
  const field = (error: ToolLimitError | ToolOwnershipError): string => {
    switch (error.kind) {
      case 'tool_limit':
        expectTypeOf(error).toEqualTypeOf<ToolLimitError>();
        return error.limit;
      case 'tool_ownership':
        expectTypeOf(error).toEqualTypeOf<ToolOwnershipError>();
        return error.tool;
    }
  };

  expectTypeOf(field).returns.toEqualTypeOf<string>();
});

test('a switch over the kinds of one class is checked', () => {
  const wrong = (error: BindError): boolean => {
    // @ts-expect-error a kind that there is not
    return error.kind === 'factory_broken';
  };

  expectTypeOf(wrong).toBeFunction();
});

test('every class is a LooprigError and an Error', () => {
  expectTypeOf<BindError>().toExtend<LooprigError>();
  expectTypeOf<SessionBusyError>().toExtend<SessionError>();
  expectTypeOf<JournalConflictError>().toExtend<JournalError>();
  expectTypeOf<LooprigError>().toExtend<Error>();
});

test('a kind is read-only', () => {
  const change = (error: BindError) => {
    // @ts-expect-error read-only
    error.kind = 'aborted';
  };

  expectTypeOf(change).toBeFunction();
  expectTypeOf(LooprigError.is).toBeFunction();
  expectTypeOf(SessionError.is).toBeFunction();
  expectTypeOf(JournalError.is).toBeFunction();
  expectTypeOf(ToolOwnershipError.is).toBeFunction();
});
