import { expectTypeOf, test } from 'vitest';
import type { ClosableEngine, Engine } from './engine.ts';
import type { engineFromUrl } from './engine-url.ts';
import type { localEngine } from './local.ts';
import type { pgBoss } from './pg-boss/index.ts';
import type { restate } from './restate/index.ts';

test('every engine of the package can be closed, whichever it is', () => {
  expectTypeOf<ReturnType<typeof localEngine>>().toEqualTypeOf<ClosableEngine>();
  expectTypeOf<ReturnType<typeof pgBoss>>().toEqualTypeOf<ClosableEngine>();
  expectTypeOf<ReturnType<typeof restate>>().toEqualTypeOf<ClosableEngine>();
  expectTypeOf<Awaited<ReturnType<typeof engineFromUrl>>>().toEqualTypeOf<ClosableEngine>();
  expectTypeOf<ClosableEngine>().toExtend<Engine & AsyncDisposable>();
});

test('an engine of somebody else need not have a close', () => {
  expectTypeOf<Omit<Engine, 'close'>>().toExtend<Engine>();
});
