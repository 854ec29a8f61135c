import { expectTypeOf, test } from 'vitest';
import type { Session, SubmitOptions } from './session.ts';
import type { TurnOptions } from './turn-limits.ts';

declare const session: Session;
declare const signal: AbortSignal;

test('what begins a turn takes a signal', () => {
  expectTypeOf<SubmitOptions['signal']>().toEqualTypeOf<AbortSignal | undefined>();
  expectTypeOf<TurnOptions['signal']>().toEqualTypeOf<AbortSignal | undefined>();
  expectTypeOf(session.submit).toBeCallableWith('go', { signal });
  expectTypeOf(session.run).toBeCallableWith('go', { signal, queue: 'reject' });
  expectTypeOf(session.continue).toBeCallableWith({ signal });
  expectTypeOf(session.resume).toBeCallableWith({ signal });
});

test('a controller is no signal, and steering takes none', () => {
  // @ts-expect-error
  session.submit('go', { signal: new AbortController() });
  // @ts-expect-error
  void session.steer('go', { signal });
});
