import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DefinitionError } from '../errors.ts';
import type { LanguageModel } from '../model/model.ts';
import { DEFAULT_BEHAVIOUR } from './behaviour.ts';
import { DEFAULT_TOOL_LIMITS } from './limits.ts';
import { defineLoop, isLoopDefinition, type LoopDefinition } from './loop.ts';
import type { ToolMiddleware } from './middleware.ts';
import { BUILD, defineTool, defineToolset, type ToolDefinition } from './tool.ts';

const stubModel = (modelId = 'stub-1'): LanguageModel => ({
  specificationVersion: 'v4',
  provider: 'stub',
  modelId,
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not asked')),
  doStream: () => Promise.reject(new Error('not asked')),
});

const model = stubModel();
const tool = (name: string): ToolDefinition =>
  defineTool({ name, description: `Does ${name}.`, input: { type: 'object' }, execute: () => name });
const [read, write, search] = [tool('read'), tool('write'), tool('search')];
const pass: ToolMiddleware = (_, next) => next();

/** Defines with options that the types may refuse. */
const define = (options: object): LoopDefinition => defineLoop({ name: 'coder', model, ...options } as never);

const refusal = (run: () => unknown): DefinitionError => {
  try {
    run();
  } catch (error) {
    if (DefinitionError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};
const refused = (options: object): DefinitionError => refusal(() => define(options));

const modeOf = (loop: LoopDefinition, name: string) => loop.modes.find(mode => mode.name === name);

/** A definition that did not come from this package's functions, with a name that they would refuse. */
const forged = (produces: readonly string[]): object => ({ ...read, produces, [BUILD]: async () => undefined });

describe('a loop definition', () => {
  test('has its options as frozen data, with every default filled in', () => {
    const loop = defineLoop({ name: 'coder', model });

    expect(loop).toMatchObject({
      name: 'coder',
      system: '',
      limits: DEFAULT_TOOL_LIMITS,
      settings: {},
      initialMode: undefined,
      middlewares: [],
      behaviour: DEFAULT_BEHAVIOUR,
      output: undefined,
      description: undefined,
      displayName: undefined,
    });
    expect(loop.model).toBe(model);
    expect(loop.modes).toEqual([{ name: '', model, system: '', tools: [], limits: DEFAULT_TOOL_LIMITS, settings: {} }]);
    for (const part of [loop, loop.limits, loop.settings, loop.modes, loop.modes[0], loop.modes[0]?.tools]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test('is known by isLoopDefinition, and nothing else is', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect(isLoopDefinition(defineLoop({ name: 'coder', model }))).toBe(true);
    expect([undefined, null, {}, { name: 'coder', model }, proxy, () => 1].map(isLoopDefinition)).toEqual([
      ...Array.from({ length: 6 }, () => false),
    ]);
  });

  test('does not run a factory', () => {
    let runs = 0;
    const counted = defineTool({
      name: 'counted',
      description: 'Counts.',
      input: { type: 'object' },
      create: () => {
        runs += 1;
        return () => '';
      },
    });
    const loop = defineLoop({ name: 'coder', model, tools: [counted] });
    loop.tools();
    loop.fingerprint();
    void loop.policyRevision;
    loop.extend({ name: 'other' });

    expect(runs).toBe(0);
  });

  test('copies what it takes: changing it later changes nothing', () => {
    const options = {
      name: 'coder',
      model,
      tools: [read],
      middlewares: [pass],
      limits: { calls: 5 },
      settings: { temperature: 0.5, stopSequences: ['a'], providerOptions: { stub: { deep: { x: 1 } } } },
      modes: { plan: { tools: [write], limits: { calls: 3 }, settings: { seed: 1 } } },
      initialMode: 'plan' as const,
      repeat: { stop: 9 },
    };
    const loop = defineLoop(options);
    options.tools.push(write);
    options.middlewares.pop();
    options.limits.calls = 500;
    options.settings.stopSequences.push('b');
    options.settings.providerOptions.stub.deep.x = 2;
    options.modes.plan.tools.push(read);
    options.modes.plan.limits.calls = 300;
    options.modes.plan.settings.seed = 2;
    options.repeat.stop = 90;

    for (const definition of [loop, loop.extend({})]) {
      expect(modeOf(definition, '')?.tools).toEqual([read]);
      expect(definition.middlewares).toEqual([pass]);
      expect(definition.limits.calls).toBe(5);
      expect(definition.settings).toEqual({
        temperature: 0.5,
        stopSequences: ['a'],
        providerOptions: { stub: { deep: { x: 1 } } },
      });
      expect(modeOf(definition, 'plan')).toMatchObject({ tools: [write], limits: { calls: 3 }, settings: { seed: 1 } });
      expect(definition.behaviour.repeat).toEqual({ warn: 3, stop: 9 });
    }
  });
});

describe('name and model', () => {
  test.each(['', '  ', '\t', undefined, null, 5, {}])('%j is no name', name => {
    expect(refused({ name })).toMatchObject({ kind: 'missing_name', field: 'name' });
  });

  test.each([undefined, null, 'gpt-5', {}, { specificationVersion: 'v4' }])('%j is no model', given => {
    expect(refused({ model: given })).toMatchObject({ kind: 'invalid_model', field: 'model' });
  });

  test.each(['v2', 'v3'])('a model of specification %s is taken, and is of v4 from then on', specificationVersion => {
    expect(define({ model: { ...model, specificationVersion } }).model).toMatchObject({
      specificationVersion: 'v4',
      provider: 'stub',
      modelId: 'stub-1',
    });
  });
});

describe('texts', () => {
  test.each(['system', 'description', 'displayName'])('%s is a text', field => {
    expect(define({ [field]: 'words' })).toHaveProperty(field, 'words');
    expect(refused({ [field]: 5 })).toMatchObject({ kind: 'invalid_option', field, value: 5 });
    expect(refused({ [field]: null })).toMatchObject({ kind: 'invalid_option', field, value: null });
  });
});

describe('tools', () => {
  test.each([
    { what: 'null', tools: [read, null], field: 'tools[1]' },
    { what: 'undefined', tools: [undefined], field: 'tools[0]' },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { what: 'a hole', tools: [read, , write], field: 'tools[1]' },
    { what: 'a live tool', tools: [read, write, { execute: () => '' }], field: 'tools[2]' },
    { what: 'a name', tools: ['read'], field: 'tools[0]' },
    { what: 'a list', tools: [[read]], field: 'tools[0]' },
  ])('refuses $what in the list', ({ tools, field }) => {
    expect(refused({ tools })).toMatchObject({ kind: 'invalid_tool', field });
  });

  test('of AI SDK are refused, in a list and by name, with the way to take them', () => {
    const foreign = { description: 'Looks.', inputSchema: {}, execute: () => 'nothing' };

    for (const tools of [[foreign], { look: foreign }])
      expect(refused({ tools }).message).toMatch(/: tools of AI SDK become such by fromAISDK of "looprig\/ai"$/);
    expect(refused({ tools: [{ look: read }] }).message).toMatch(/, not an object$/);
  });

  test.each([null, 'read', read, new Set([read])])('refuses %s in place of a list', tools => {
    expect(refused({ tools })).toMatchObject({ kind: 'invalid_tool', field: 'tools' });
  });

  test('checks the produced names of a definition from elsewhere', () => {
    expect(refused({ tools: [forged(['a.b'])] })).toMatchObject({ kind: 'invalid_tool_name', field: 'tools[0]' });
    expect(refused({ tools: [read, forged(['ok', '_looprig_final_output'])] })).toMatchObject({
      kind: 'reserved_tool_name',
      field: 'tools[1]',
    });
  });

  test('a definition listed twice appears once', () => {
    expect(define({ tools: [read, write, read] }).modes[0]?.tools).toEqual([read, write]);
  });
});

describe('middlewares', () => {
  test('keep their order', () => {
    const other: ToolMiddleware = (_, next) => next();

    expect(define({ middlewares: [pass, other] }).middlewares).toEqual([pass, other]);
  });

  test.each([
    { middlewares: [pass, 'log'], field: 'middlewares[1]' },
    { middlewares: [null], field: 'middlewares[0]' },
    { middlewares: pass, field: 'middlewares' },
  ])('refuses $middlewares at $field', ({ middlewares, field }) => {
    expect(refused({ middlewares })).toMatchObject({ kind: 'invalid_middleware', field });
  });
});

describe('limits', () => {
  test('are resolved over the defaults', () => {
    expect(define({ limits: { calls: 7, parallel: 0 } }).limits).toEqual({ ...DEFAULT_TOOL_LIMITS, calls: 7 });
  });

  test('are refused with the path of the field', () => {
    expect(refused({ limits: { calls: -1 } })).toMatchObject({ kind: 'invalid_tool_limits', field: 'limits.calls' });
    expect(refused({ limits: { call: 1 } })).toMatchObject({ kind: 'invalid_tool_limits', field: 'limits.call' });
    expect(refused({ limits: null })).toMatchObject({ kind: 'invalid_tool_limits', field: 'limits' });
  });
});

describe('modes', () => {
  const modes = { plan: {}, act: {} };

  test('stand behind the base mode, in their order', () => {
    const names = define({ modes: { plan: {}, act: {}, 7: {} }, initialMode: 'act' }).modes.map(({ name }) => name);

    expect(names).toEqual(['', '7', 'plan', 'act']); // a record puts whole numbers first
  });

  test('take from the base what they leave out', () => {
    const loop = define({
      system: 'Base.',
      tools: [read],
      limits: { calls: 9 },
      settings: { temperature: 0 },
      modes: { plan: {}, empty: { tools: [], limits: {}, settings: {}, instructions: '' } },
      initialMode: 'plan',
    });
    const base = { model, system: 'Base.', tools: [read], limits: loop.limits, settings: { temperature: 0 } };

    expect(loop.modes).toEqual([
      { name: '', ...base },
      { name: 'plan', ...base },
      { name: 'empty', ...base },
    ]);
  });

  test('override model, tools, limits and settings', () => {
    const other = stubModel('stub-2');
    const loop = define({
      tools: [read],
      limits: { calls: 9, parallel: 2 },
      settings: { temperature: 0, seed: 1 },
      modes: {
        plan: { model: other, tools: [write], limits: { calls: 3, parallel: 0 }, settings: { seed: 2, topP: 1 } },
      },
      initialMode: 'plan',
    });

    expect(modeOf(loop, 'plan')).toEqual({
      name: 'plan',
      model: other,
      system: '',
      tools: [write],
      limits: { ...DEFAULT_TOOL_LIMITS, calls: 3, parallel: 2 },
      settings: { temperature: 0, seed: 2, topP: 1 },
    });
    expect(Object.isFrozen(modeOf(loop, 'plan'))).toBe(true);
    expect(Object.isFrozen(modeOf(loop, 'plan')?.settings)).toBe(true);
  });

  test.each([
    { system: 'Base.', instructions: 'Plan.', effective: 'Base.\n\nPlan.' },
    { system: 'Base.', instructions: '', effective: 'Base.' },
    { system: '', instructions: 'Plan.', effective: 'Plan.' },
    { system: undefined, instructions: 'Plan.', effective: 'Plan.' },
    { system: 'Base.', instructions: undefined, effective: 'Base.' },
    { system: undefined, instructions: undefined, effective: '' },
  ])('join instructions $instructions to system $system by a blank line', ({ system, instructions, effective }) => {
    const loop = define({ system, modes: { plan: { instructions } }, initialMode: 'plan' });

    expect(modeOf(loop, 'plan')?.system).toBe(effective);
    expect(modeOf(loop, '')?.system).toBe(system ?? '');
  });

  test('may be named like members of the object prototype', () => {
    const named = JSON.parse('{"__proto__": {"instructions": "Odd."}, "constructor": {}}');
    const loop = define({ modes: named, initialMode: '__proto__' });

    expect(loop.modes.map(({ name }) => name)).toEqual(['', '__proto__', 'constructor']);
    expect(modeOf(loop, '__proto__')?.system).toBe('Odd.');
    expect(loop.initialMode).toBe('__proto__');
  });

  test.each(['', ' ', '\n'])('are refused with the blank name %j', name => {
    expect(refused({ modes: { [name]: {} }, initialMode: name })).toMatchObject({
      kind: 'invalid_mode',
      field: `modes[${JSON.stringify(name)}]`,
    });
  });

  test.each([
    { modes: [{}], field: 'modes' },
    { modes: null, field: 'modes' },
    { modes: 'plan', field: 'modes' },
    { modes: { plan: null }, field: 'modes.plan' },
    { modes: { plan: 'x' }, field: 'modes.plan' },
    { modes: { plan: undefined }, field: 'modes.plan' },
    { modes: { 'a b': [] }, field: 'modes["a b"]' },
  ])('are refused: $modes', ({ modes: given, field }) => {
    expect(refused({ modes: given, initialMode: 'plan' })).toMatchObject({ kind: 'invalid_mode', field });
  });

  test.each([
    { mode: { model: 'gpt-5' }, kind: 'invalid_model', field: 'modes.plan.model' },
    { mode: { tools: [null] }, kind: 'invalid_tool', field: 'modes.plan.tools[0]' },
    { mode: { tools: read }, kind: 'invalid_tool', field: 'modes.plan.tools' },
    { mode: { limits: { calls: 1.5 } }, kind: 'invalid_tool_limits', field: 'modes.plan.limits.calls' },
    { mode: { limits: { steps: 1 } }, kind: 'invalid_tool_limits', field: 'modes.plan.limits.steps' },
    { mode: { instructions: 5 }, kind: 'invalid_option', field: 'modes.plan.instructions' },
    { mode: { settings: { temperature: 'hot' } }, kind: 'invalid_option', field: 'modes.plan.settings.temperature' },
    { mode: { system: 'x' }, kind: 'invalid_option', field: 'modes.plan.system' },
  ])('are refused with $mode at $field', ({ mode, kind, field }) => {
    expect(refused({ modes: { plan: mode }, initialMode: 'plan' })).toMatchObject({ kind, field });
  });

  test('need an initial mode', () => {
    const error = refused({ modes });

    expect(error).toMatchObject({ kind: 'missing_initial_mode', field: 'initialMode' });
    expect(error.message).toBe('a loop with modes needs "initialMode": one of "plan", "act"');
  });

  test.each(['build', '', 'toString', '__proto__', 5, null, ['plan']])('do not include the initial mode %j', name => {
    expect(refused({ modes, initialMode: name })).toMatchObject({ kind: 'invalid_initial_mode', field: 'initialMode' });
  });

  test.each([{}, { modes: {} }, { modes: undefined }])('are needed for an initial mode: %j', options => {
    for (const initialMode of ['plan', '']) {
      expect(refused({ ...options, initialMode })).toMatchObject({
        kind: 'invalid_initial_mode',
        field: 'initialMode',
        message: '"initialMode" is for a loop with modes, and this one has none',
      });
    }
    expect(define(options).initialMode).toBeUndefined();
  });
});

describe('settings', () => {
  test('are taken as a deep, frozen copy', () => {
    const settings = {
      maxOutputTokens: 100,
      temperature: 0,
      stopSequences: ['END'],
      topP: 0.5,
      topK: 3,
      presencePenalty: -1,
      frequencyPenalty: 1,
      seed: 7,
      reasoning: 'low' as const,
      headers: { 'x-a': 'b' },
      providerOptions: { stub: { cache: true } },
    };
    const loop = define({ settings });

    expect(loop.settings).toEqual(settings);
    expect(Object.isFrozen(loop.settings.providerOptions?.stub)).toBe(true);
  });

  test('leave out what is undefined', () => {
    const loop = define({
      settings: { temperature: 1, seed: undefined },
      modes: { plan: { settings: { temperature: undefined } } },
      initialMode: 'plan',
    });

    expect(Object.keys(loop.settings)).toEqual(['temperature']);
    expect(modeOf(loop, 'plan')?.settings).toEqual({ temperature: 1 });
  });

  test.each([
    { settings: { temperature: Number.NaN }, field: 'settings.temperature' },
    { settings: { temperature: '0' }, field: 'settings.temperature' },
    { settings: { maxOutputTokens: 0 }, field: 'settings.maxOutputTokens' },
    { settings: { maxOutputTokens: Number.POSITIVE_INFINITY }, field: 'settings.maxOutputTokens' },
    { settings: { seed: 1.5 }, field: 'settings.seed' },
    { settings: { stopSequences: 'END' }, field: 'settings.stopSequences' },
    { settings: { stopSequences: ['END', 5] }, field: 'settings.stopSequences' },
    { settings: { reasoning: 3 }, field: 'settings.reasoning' },
    { settings: { headers: ['a'] }, field: 'settings.headers' },
    { settings: { providerOptions: { stub: { f: () => 1 } } }, field: 'settings.providerOptions' },
    { settings: { maxTokens: 100 }, field: 'settings.maxTokens' },
    { settings: { toolChoice: 'none' }, field: 'settings.toolChoice' },
    { settings: { prompt: [] }, field: 'settings.prompt' },
    { settings: null, field: 'settings' },
    { settings: [], field: 'settings' },
  ])('are refused at $field: $settings', ({ settings, field }) => {
    expect(refused({ settings })).toMatchObject({ kind: 'invalid_option', field });
  });
});

describe('output', () => {
  test('is a schema ready for use', () => {
    expect(define({ output: z.object({ n: z.number() }) }).output?.jsonSchema).toMatchObject({
      type: 'object',
      required: ['n'],
    });
    expect(define({ output: { type: 'object' } }).output?.jsonSchema).toEqual({ type: 'object' });
  });

  test.each([
    { what: 'text', output: 'SECRET' },
    { what: 'a root that is no object', output: { type: 'array', description: 'SECRET' } },
    { what: 'a lost reference', output: { type: 'object', properties: { a: { $ref: '#/SECRET' } } } },
    { what: 'a bad pattern', output: { type: 'object', properties: { SECRET: { pattern: '(SECRET' } } } },
    { what: 'a bad address', output: { type: 'object', $id: 'http://SECRET:port' } },
    { what: 'what JSON Schema cannot say', output: z.object({ SECRET: z.date() }) },
    {
      what: 'a library that quotes',
      output: {
        '~standard': {
          version: 1,
          vendor: 'SECRET',
          validate: () => ({ value: 1 }),
          jsonSchema: {
            input() {
              throw new Error('SECRET');
            },
          },
        },
      },
    },
    { what: 'a vendor without JSON Schema', output: { '~standard': { vendor: 'SECRET', validate: () => undefined } } },
    { what: 'null', output: null },
  ])('is refused without a word of the schema: $what', ({ output }) => {
    const error = refused({ output });

    expect(error).toMatchObject({ kind: 'invalid_output_schema', field: 'output' });
    expect(error.message).toContain('"output" cannot be used as a schema: ');
    expect([error.message, error.value, error.cause].map(String).join()).not.toContain('SECRET');
  });
});

describe('options', () => {
  test.each(['tool', 'initialmode', 'maxSteps', 'toolLimits'])('refuses the unknown option %s', name => {
    expect(refused({ [name]: 1 })).toMatchObject({ kind: 'invalid_option', field: name });
  });

  test('say how turns behave', () => {
    expect(define({ stream: false, atLimit: 'answer', repeat: false }).behaviour).toEqual({
      ...DEFAULT_BEHAVIOUR,
      stream: false,
      atLimit: 'answer',
      repeat: false,
    });
    expect(refused({ atLimit: 'stop' })).toMatchObject({ kind: 'invalid_option', field: 'atLimit' });
  });

  test.each([undefined, null, 'coder', [], () => 1])('must be an object, not %j', options => {
    expect(refusal(() => defineLoop(options as never))).toMatchObject({ kind: 'invalid_option', field: 'options' });
  });

  test('that throw when they are read are refused, with what they threw as the cause', () => {
    const cause = new Error('no');
    const options = {
      name: 'coder',
      get model(): never {
        throw cause;
      },
    };

    expect(refusal(() => defineLoop(options))).toMatchObject({ kind: 'invalid_option', field: 'model', cause });
  });
});

describe('extend', () => {
  const base = defineLoop({
    name: 'coder',
    model,
    system: 'Base.',
    tools: [read],
    middlewares: [pass],
    limits: { calls: 9, parallel: 2 },
    settings: { temperature: 0 },
    modes: { plan: { tools: [search], instructions: 'Plan.', limits: { calls: 3 }, settings: { seed: 1 } } },
    initialMode: 'plan',
    output: { type: 'object' },
    description: 'Codes.',
    displayName: 'Coder',
    stream: false,
    repeat: { warn: 2, stop: 3 },
  });

  test('without options gives an equal definition that is another object', () => {
    const same = base.extend({});

    expect(same).not.toBe(base);
    expect(same).toEqual(base);
    expect(same.policyRevision).toBe(base.policyRevision);
    expect(isLoopDefinition(same)).toBe(true);
  });

  test('appends tools, middlewares and modes, and leaves the original untouched', () => {
    const before = base.policyRevision;
    const other: ToolMiddleware = (_, next) => next();
    const extended = base.extend({ tools: [write], middlewares: [other], modes: { act: { instructions: 'Act.' } } });

    expect(modeOf(extended, '')?.tools).toEqual([read, write]);
    expect(extended.middlewares).toEqual([pass, other]);
    expect(extended.modes.map(({ name }) => name)).toEqual(['', 'plan', 'act']);
    expect(modeOf(extended, 'act')).toMatchObject({ system: 'Base.\n\nAct.', tools: [read, write] });
    expect(extended.initialMode).toBe('plan');
    expect(modeOf(base, '')?.tools).toEqual([read]);
    expect(base.middlewares).toEqual([pass]);
    expect(base.modes.map(({ name }) => name)).toEqual(['', 'plan']);
    expect(base.policyRevision).toBe(before);
  });

  test('keeps a definition once that is appended twice', () => {
    const twice = base.extend({ tools: [write, read] }).extend({ tools: [write] });

    expect(modeOf(twice, '')?.tools).toEqual([read, write]);
  });

  test('runs a middleware twice that is appended twice', () => {
    expect(base.extend({ middlewares: [pass] }).middlewares).toEqual([pass, pass]);
  });

  test('replaces every other option, limits and settings as a whole', () => {
    const other = stubModel('stub-2');
    const extended = base.extend({
      name: 'writer',
      model: other,
      system: 'Other.',
      limits: { iterations: 4 },
      settings: { topK: 1 },
      output: { type: 'object', properties: {} },
      description: 'Writes.',
      displayName: 'Writer',
      stream: true,
      repeat: false,
      modelRetries: 0,
    });

    expect(extended).toMatchObject({
      name: 'writer',
      system: 'Other.',
      description: 'Writes.',
      displayName: 'Writer',
      limits: { ...DEFAULT_TOOL_LIMITS, iterations: 4 },
      behaviour: { ...DEFAULT_BEHAVIOUR, stream: true, repeat: false, modelRetries: 0 },
      output: { jsonSchema: { type: 'object', properties: {} } },
    });
    expect(extended.settings).toEqual({ topK: 1 });
    expect(extended.model).toBe(other);
  });

  test('keeps what is not given, undefined included', () => {
    const extended = base.extend({ system: undefined, limits: undefined, stream: undefined, modes: undefined });

    expect(extended).toEqual(base);
  });

  test('puts modes over the new base', () => {
    const plan = modeOf(
      base.extend({ system: 'New.', limits: { calls: 5, parallel: 4 }, settings: { topK: 1 } }),
      'plan',
    );

    expect(plan).toMatchObject({ system: 'New.\n\nPlan.', limits: { calls: 3, parallel: 4 } });
    expect(plan?.settings).toEqual({ topK: 1, seed: 1 });
  });

  test('may give modes and an initial mode to a loop without', () => {
    const extended = defineLoop({ name: 'plain', model }).extend({ modes: { plan: {} }, initialMode: 'plan' });

    expect(extended.initialMode).toBe('plan');
    expect(base.extend({ modes: { act: {} }, initialMode: 'act' }).initialMode).toBe('act');
  });

  test('refuses what defineLoop refuses, at the place in what was given', () => {
    const extend = (options: object) => refusal(() => base.extend(options as never));

    expect(extend({ name: ' ' })).toMatchObject({ kind: 'missing_name' });
    expect(extend({ model: null })).toMatchObject({ kind: 'invalid_model', field: 'model' });
    expect(extend({ tools: [null] })).toMatchObject({ kind: 'invalid_tool', field: 'tools[0]' });
    expect(extend({ middlewares: [5] })).toMatchObject({ kind: 'invalid_middleware', field: 'middlewares[0]' });
    expect(extend({ limits: { calls: -1 } })).toMatchObject({ kind: 'invalid_tool_limits', field: 'limits.calls' });
    expect(extend({ initialMode: 'act' })).toMatchObject({ kind: 'invalid_initial_mode' });
    expect(extend({ colour: 'red' })).toMatchObject({ kind: 'invalid_option', field: 'colour' });
    expect(extend({ output: 5 })).toMatchObject({ kind: 'invalid_output_schema', field: 'output' });
  });

  test('refuses a mode of a name that there is', () => {
    expect(refusal(() => base.extend({ modes: { plan: {} } }))).toMatchObject({
      kind: 'invalid_mode',
      field: 'modes.plan',
      message: 'there is a mode "plan" already: give the new one another name',
    });
  });
});

describe('tools()', () => {
  test('lists every definition of base and modes, once each', () => {
    const loop = define({
      tools: [read, write],
      modes: { plan: { tools: [search, read] }, act: {} },
      initialMode: 'plan',
    });

    expect(loop.tools()).toEqual([read, write, search]);
    expect(Object.isFrozen(loop.tools())).toBe(true);
  });
});

describe('fingerprint()', () => {
  const files = defineToolset({ name: 'files', produces: ['list', 'open'], create: () => [] });

  test('says the model, the system text and the tool names of the initial mode', () => {
    const loop = define({
      system: 'Base.',
      tools: [read],
      modes: { plan: { model: stubModel('stub-2'), tools: [files, write], instructions: 'Plan.' }, act: {} },
      initialMode: 'plan',
    });

    expect(loop.fingerprint()).toEqual({
      model: { provider: 'stub', modelId: 'stub-2', specificationVersion: 'v4' },
      system: 'Base.\n\nPlan.',
      tools: ['list', 'open', 'write'],
    });
  });

  test('is of the base mode where there is no other', () => {
    expect(define({ tools: [read] }).fingerprint()).toEqual({
      model: { provider: 'stub', modelId: 'stub-1', specificationVersion: 'v4' },
      system: '',
      tools: ['read'],
    });
  });
});
