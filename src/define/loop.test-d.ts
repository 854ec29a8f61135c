import { type } from 'arktype';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { BoundLoop } from '../bind/bound-loop.ts';
import type { AnyLanguageModel } from '../model/model.ts';
import { defineLoop, type LoopDefinition, type LoopOptions } from './loop.ts';

declare const model: AnyLanguageModel;
declare const words: string;

const plain = () => defineLoop({ name: 'coder', model });
const withModes = () =>
  defineLoop({ name: 'coder', model, modes: { plan: { instructions: 'Plan.' }, act: {} }, initialMode: 'plan' });

type OutputOf<Loop> = Loop extends LoopDefinition<string, string, infer Output> ? Output : never;
type ModesOf<Loop> = Loop extends LoopDefinition<string, infer ModeName> ? ModeName : never;

test('the name and the mode names are inferred as literals', () => {
  expectTypeOf(plain).returns.toEqualTypeOf<LoopDefinition<'coder', never>>();
  expectTypeOf(withModes).returns.toEqualTypeOf<LoopDefinition<'coder', 'plan' | 'act'>>();
  expectTypeOf<ReturnType<typeof withModes>['name']>().toEqualTypeOf<'coder'>();
  expectTypeOf<ReturnType<typeof withModes>['initialMode']>().toEqualTypeOf<'plan' | 'act' | undefined>();
  expectTypeOf<ReturnType<typeof withModes>['modes'][number]['name']>().toEqualTypeOf<'' | 'plan' | 'act'>();
  expectTypeOf<ModesOf<ReturnType<typeof withModes>>>().toEqualTypeOf<'plan' | 'act'>();
});

test('names that are only known at run time are texts', () => {
  const named = () => defineLoop({ name: words, model, modes: { [words]: {} }, initialMode: words });

  expectTypeOf(named).returns.toEqualTypeOf<LoopDefinition<string, string>>();
});

test('a bound loop knows the mode names', () => {
  const bind = (loop: ReturnType<typeof withModes>) => loop.bind({ sessionId: 's', loopId: 'l' });

  expectTypeOf(bind).returns.resolves.toEqualTypeOf<BoundLoop<'plan' | 'act'>>();
});

test('the output is typed from its schema', () => {
  const zod = () => defineLoop({ name: 'coder', model, output: z.object({ n: z.number() }) });
  const arktype = () => defineLoop({ name: 'coder', model, output: type({ n: 'number' }) });
  const literal = () =>
    defineLoop({
      name: 'coder',
      model,
      output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    });

  expectTypeOf<OutputOf<ReturnType<typeof zod>>>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<OutputOf<ReturnType<typeof arktype>>>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<OutputOf<ReturnType<typeof literal>>>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<OutputOf<ReturnType<typeof plain>>>().toEqualTypeOf<unknown>();
});

test('any definition is a loop definition', () => {
  const take = (loop: LoopDefinition): string => loop.name;
  const takeMany = (loops: readonly LoopDefinition[]): number => loops.length;
  const use = () => {
    take(plain());
    take(withModes());
    take(defineLoop({ name: 'coder', model, output: z.object({ n: z.number() }) }));
    takeMany([plain(), withModes()]);
  };

  expectTypeOf(use).toBeFunction();
});

test('extend keeps names and output, and adds modes', () => {
  const kept = () => withModes().extend({ system: 'Other.', tools: [] });
  const renamed = () => withModes().extend({ name: 'writer', modes: { rest: {} }, initialMode: 'rest' });
  const given = () => plain().extend({ modes: { plan: {} }, initialMode: 'plan', output: z.object({ n: z.number() }) });
  const typed = () => given().extend({ name: 'other' });

  expectTypeOf(kept).returns.toEqualTypeOf<LoopDefinition<'coder', 'plan' | 'act'>>();
  expectTypeOf(renamed).returns.toEqualTypeOf<LoopDefinition<'writer', 'plan' | 'act' | 'rest'>>();
  expectTypeOf(given).returns.toEqualTypeOf<LoopDefinition<'coder', 'plan', { n: number }>>();
  expectTypeOf(typed).returns.toEqualTypeOf<LoopDefinition<'other', 'plan', { n: number }>>();
});

test('options may be put together elsewhere, and left undefined', () => {
  const options: LoopOptions<'coder', never> = { name: 'coder', model };
  const use = () =>
    defineLoop({
      ...options,
      system: undefined,
      tools: undefined,
      limits: { calls: undefined },
      modes: undefined,
      initialMode: undefined,
      stream: undefined,
    });

  expectTypeOf(use).returns.toEqualTypeOf<LoopDefinition<'coder', never>>();
});

test('wrong uses do not compile', () => {
  const modes = { plan: {}, act: {} };
  const use = () => {
    // @ts-expect-error no name
    defineLoop({ model });
    // @ts-expect-error no model
    defineLoop({ name: 'coder' });
    // @ts-expect-error the id of a model
    defineLoop({ name: 'coder', model: 'gpt-5' });
    // @ts-expect-error an initial mode that there is not
    defineLoop({ name: 'coder', model, modes: { plan: {} }, initialMode: 'act' });
    // @ts-expect-error the base mode is no choice
    defineLoop({ name: 'coder', model, modes: { plan: {} }, initialMode: '' });
    // @ts-expect-error modes without an initial mode
    defineLoop({ name: 'coder', model, modes: { plan: {} } });
    // @ts-expect-error an initial mode without modes
    defineLoop({ name: 'coder', model, initialMode: 'plan' });
    // @ts-expect-error an unknown option
    defineLoop({ name: 'coder', model, maxSteps: 5 });
    // @ts-expect-error an unknown option beside modes
    defineLoop({ name: 'coder', model, modes: { plan: {} }, initialMode: 'plan', maxSteps: 5 });
    // @ts-expect-error an unknown option of a mode
    defineLoop({ name: 'coder', model, modes: { plan: { system: 'x' } }, initialMode: 'plan' });
    // @ts-expect-error an unknown limit
    defineLoop({ name: 'coder', model, limits: { call: 5 } });
    // @ts-expect-error a live tool
    defineLoop({ name: 'coder', model, tools: [{ execute: () => '' }] });
    // @ts-expect-error a setting that the loop decides
    defineLoop({ name: 'coder', model, settings: { toolChoice: { type: 'none' } } });
    // @ts-expect-error what to do at a limit
    defineLoop({ name: 'coder', model, atLimit: 'stop' });
    // @ts-expect-error the first modes of a loop need an initial mode
    plain().extend({ modes });
    // @ts-expect-error an initial mode that neither has
    withModes().extend({ initialMode: 'rest' });
    // @ts-expect-error a bind without a session
    void plain().bind({ loopId: 'l' });
    // @ts-expect-error a definition cannot be changed
    plain().name = 'coder';
    // @ts-expect-error nor what is in it
    plain().limits.calls = 5;
  };

  expectTypeOf(use).toBeFunction();
});
