import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Workspace } from '../define/bindings.ts';
import { defineLoop, type LoopDefinition } from '../define/loop.ts';
import type { ToolMiddleware } from '../define/middleware.ts';
import {
  BUILD,
  defineTool,
  defineToolset,
  liveTool,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type ToolDefinition,
  toolResult,
} from '../define/tool.ts';
import { BindError } from '../errors.ts';
import type { LanguageModel } from '../model/model.ts';
import { manualClock } from '../testing/manual-clock.ts';
import type { BindOptions } from './bind.ts';

const stubModel = (modelId = 'stub-1'): LanguageModel => ({
  specificationVersion: 'v4',
  provider: 'stub',
  modelId,
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not asked')),
  doStream: () => Promise.reject(new Error('not asked')),
});

const model = stubModel();
const ids = { sessionId: 's1', loopId: 'l1' };
const input = { type: 'object' } as const;
const workspace: Workspace = { root: '/w', resolve: async path => path, relative: path => path };

/** A tool whose factory returns what `create` gives, whatever the types say. */
const tool = (name: string, create: (bindings: object) => unknown = () => () => name, requires: string[] = []) =>
  defineTool({ name, description: `Does ${name}.`, input, requires, create } as never) as ToolDefinition;
const toolset = (name: string, produces: readonly string[], create: (bindings: object) => unknown): ToolDefinition =>
  defineToolset({ name, produces, create } as never);
const live = (name: string, more: object = {}) =>
  liveTool({ info: { name, description: `Does ${name}.`, input }, execute: () => name, ...more });

const loopOf = (tools: readonly ToolDefinition[], more: object = {}): LoopDefinition =>
  defineLoop({ name: 'coder', model, tools, ...more } as never);
const bind = (tools: readonly ToolDefinition[], bindings: object = ids, options?: BindOptions) =>
  loopOf(tools).bind(bindings as never, options);

const refusal = async (bound: Promise<unknown>): Promise<BindError> => {
  const error: unknown = await bound.then(
    () => new Error('nothing was refused'),
    caught => caught,
  );
  if (BindError.is(error)) return error;
  throw error;
};
const refused = (tools: readonly ToolDefinition[], bindings?: object, options?: BindOptions): Promise<BindError> =>
  refusal(bind(tools, bindings, options));

/** Counts how often its factory ran, and notes what was disposed of. */
const tracked = (log: string[]) => ({
  tool: (name: string, disposer: object = { [Symbol.dispose]: () => void log.push(`dispose ${name}`) }) =>
    tool(name, () => {
      log.push(`create ${name}`);
      return { execute: () => name, ...disposer };
    }),
});

describe('1. an aborted signal', () => {
  test('refuses the bind before anything is looked at', async () => {
    const reason = new Error('gone');
    const error = await refused([tool('read')], {}, { signal: AbortSignal.abort(reason) });

    expect(error).toMatchObject({ kind: 'aborted', cause: reason });
  });
});

describe('2. the ids', () => {
  const NIL = '00000000-0000-0000-0000-000000000000';

  test.each([undefined, null, '', '  ', NIL, ` ${NIL} `, 5, {}])('%j is no id', async id => {
    const log: string[] = [];
    const tools = [tracked(log).tool('read')];

    expect((await refused(tools, { ...ids, sessionId: id })).kind).toBe('invalid_session_id');
    expect((await refused(tools, { ...ids, loopId: id })).kind).toBe('invalid_loop_id');
    expect((await refused(tools, { sessionId: id, loopId: id })).kind).toBe('invalid_session_id');
    expect(log).toEqual([]);
  });

  test.each([undefined, null, 's1', 5])('%j is no bindings', async bindings => {
    expect((await refusal(loopOf([]).bind(bindings as never))).kind).toBe('invalid_session_id');
  });

  test('that throw when they are read are refused', async () => {
    const hostile = {
      get sessionId(): never {
        throw new Error('no');
      },
    };

    expect((await refused([], hostile)).kind).toBe('invalid_session_id');
  });

  test('are checked before the extra tools', async () => {
    expect((await refused([], { ...ids, loopId: '', extraTools: [null] })).kind).toBe('invalid_loop_id');
  });
});

describe('3. extra tools', () => {
  const forged = (name: string): object => ({ ...tool('read'), name, produces: [name], [BUILD]: async () => () => '' });

  test.each([
    { what: 'null', extraTools: [tool('read'), null], index: 1 },
    { what: 'undefined', extraTools: [undefined], index: 0 },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { what: 'a hole', extraTools: [, tool('read')], index: 0 },
    { what: 'a live tool', extraTools: [{ execute: () => '' }], index: 0 },
    { what: 'a name that providers refuse', extraTools: [forged('a.b')], index: 0 },
    { what: 'the reserved name', extraTools: [tool('x'), forged(STRUCTURED_OUTPUT_TOOL_NAME)], index: 1 },
  ])('are refused with $what', async ({ extraTools, index }) => {
    expect(await refused([], { ...ids, extraTools })).toMatchObject({ kind: 'invalid_definition', index });
  });

  test.each([null, 'read', tool('read'), {}])('are refused where they are no list', async extraTools => {
    const error = await refused([], { ...ids, extraTools });

    expect(error.kind).toBe('invalid_definition');
    expect(error.message).toContain('"extraTools" must be a list of tool definitions, not ');
  });

  test('are checked before missing bindings', async () => {
    const needy = tool('read', undefined, ['workspace']);

    expect((await refused([needy], { ...ids, extraTools: [null] })).kind).toBe('invalid_definition');
  });
});

describe('4. a required binding', () => {
  test.each([
    { what: 'is absent', bindings: {} },
    { what: 'is undefined', bindings: { workspace: undefined } },
    { what: 'is null', bindings: { workspace: null } },
    { what: 'has a blank root', bindings: { workspace: { ...workspace, root: '  ' } } },
    { what: 'has no root', bindings: { workspace: {} } },
    {
      what: 'has a root that throws',
      bindings: {
        workspace: {
          get root(): never {
            throw new Error('no');
          },
        },
      },
    },
  ])('that $what refuses the bind, and no factory runs', async ({ bindings }) => {
    const log: string[] = [];
    const needy = tool('edit', () => log.push('create edit'), ['workspace']);
    const error = await refused([tracked(log).tool('read'), needy], { ...ids, ...bindings });

    expect(error).toMatchObject({ kind: 'missing_binding', definition: 'edit', binding: 'workspace' });
    expect(error.message).toContain('"edit" requires the binding "workspace", ');
    expect(log).toEqual([]);
  });

  test.each([
    { name: 'workspace', remedy: 'give the rig a folder, as defineRig({ workspace: "." }) does' },
    { name: 'secrets', remedy: 'give the rig "secrets"' },
    { name: 'captures', remedy: 'a rig gives it to the sessions that it opens' },
    { name: 'database', remedy: 'give it to the rig, among its "bindings"' },
  ])('that is missing is told with the way to give it: $name', async ({ name, remedy }) => {
    const error = await refused([tool('edit', undefined, [name])]);

    expect(error.message).toBe(`"edit" requires the binding "${name}", which is not there: ${remedy}`);
  });

  test.each(['toString', 'constructor', '__proto__'])('%s is not found on the object prototype', async name => {
    expect(await refused([tool('read', undefined, [name])])).toMatchObject({ kind: 'missing_binding', binding: name });
  });

  test('of a mode or an extra tool is missed too', async () => {
    const needy = tool('edit', undefined, ['secrets']);
    const loop = loopOf([], { modes: { plan: { tools: [needy] } }, initialMode: 'plan' });

    expect((await refusal(loop.bind(ids))).kind).toBe('missing_binding');
    expect((await refused([], { ...ids, extraTools: [needy] })).kind).toBe('missing_binding');
  });

  test('is given to its factory with the two ids, and nothing else', async () => {
    const seen: object[] = [];
    const secrets = { get: () => 'x' };
    const spy = (bindings: object) => {
      seen.push(bindings);
      return () => '';
    };
    await bind([tool('a', spy), tool('b', spy, ['workspace']), tool('c', spy, ['secrets', 'workspace'])], {
      ...ids,
      workspace,
      secrets,
      captures: {},
      extraTools: [],
    });

    expect(seen).toEqual([ids, { ...ids, workspace }, { ...ids, workspace, secrets }]);
    expect(seen.map(bindings => Object.isFrozen(bindings))).toEqual([true, true, true]);
  });

  test('may be a program’s own', async () => {
    const seen: object[] = [];
    const database = { query: () => [] };
    const own = tool(
      'ask',
      bindings => {
        seen.push(bindings);
        return () => '';
      },
      ['database'],
    );
    await bind([own], { ...ids, database });

    expect(seen).toEqual([{ ...ids, database }]);
  });

  test('is missed before two definitions of one name', async () => {
    const tools = [tool('read'), tool('read', undefined, ['workspace'])];

    expect((await refused(tools)).kind).toBe('missing_binding');
  });
});

describe('5. two different definitions with one name', () => {
  const one = tool('read');
  const other = toolset('read', ['look'], () => [live('look')]);

  test.each([
    { where: 'in the base', loop: loopOf([one, other]), extraTools: [] },
    { where: 'in base and extras', loop: loopOf([one]), extraTools: [other] },
    { where: 'in the extras', loop: loopOf([]), extraTools: [one, other] },
    {
      where: 'in a mode',
      loop: loopOf([], { modes: { plan: { tools: [one, other] } }, initialMode: 'plan' }),
      extraTools: [],
    },
    {
      where: 'in base and a mode',
      loop: loopOf([one], { modes: { plan: { tools: [other] } }, initialMode: 'plan' }),
      extraTools: [],
    },
    {
      where: 'in two modes',
      loop: loopOf([], { modes: { plan: { tools: [one] }, act: { tools: [other] } }, initialMode: 'plan' }),
      extraTools: [],
    },
  ])('are refused $where', async ({ loop, extraTools }) => {
    expect(await refusal(loop.bind({ ...ids, extraTools }))).toMatchObject({
      kind: 'duplicate_definition_name',
      definition: 'read',
    });
  });

  test('are refused before any factory runs', async () => {
    const log: string[] = [];

    expect((await refused([tracked(log).tool('read'), tracked(log).tool('read')])).kind).toBe(
      'duplicate_definition_name',
    );
    expect(log).toEqual([]);
  });
});

describe('6. a factory', () => {
  test.each([
    {
      how: 'throws',
      create: () => {
        throw new Error('no disk');
      },
    },
    { how: 'rejects', create: () => Promise.reject(new Error('no disk')) },
  ])('that $how refuses the bind, with the original as the cause', async ({ create }) => {
    const error = await refused([tool('read', create)]);

    expect(error).toMatchObject({ kind: 'factory_failed', definition: 'read', cause: { message: 'no disk' } });
    expect(error.message).toBe('the factory of "read" failed: no disk');
  });

  test.each([undefined, null, 'text', 5])('may throw %j', async thrown => {
    const error = await refused([tool('read', () => Promise.reject(thrown))]);

    expect(error).toMatchObject({ kind: 'factory_failed', cause: thrown });
    expect('cause' in error).toBe(true);
  });

  test('may throw what cannot be looked at', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect((await refused([tool('read', () => Promise.reject(proxy))])).kind).toBe('factory_failed');
  });

  test('that fails keeps the ones after it from running', async () => {
    const log: string[] = [];
    const failing = tool('b', () => {
      throw new Error('no');
    });

    await refused([tracked(log).tool('a'), failing, tracked(log).tool('c')]);

    expect(log).toEqual(['create a', 'dispose a']);
  });
});

describe('7. what is no tool', () => {
  test.each([undefined, null, 'read', 5, true, [], [() => ''], {}, { execute: 'run' }, { run: () => '' }])(
    'is refused from a tool’s factory: %j',
    async returned => {
      expect(await refused([tool('read', () => returned)])).toMatchObject({
        kind: 'invalid_tool',
        definition: 'read',
        tool: 'read',
        index: 0,
      });
    },
  );

  test.each([
    { returned: undefined, index: 0 },
    { returned: null, index: 0 },
    { returned: live('a'), index: 0 },
    { returned: new Set([live('a')]), index: 0 },
    { returned: [null], index: 0 },
    { returned: [live('a'), undefined], index: 1 },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { returned: [live('a'), , live('b')], index: 1 },
    { returned: [live('a'), 'b'], index: 1 },
    { returned: [live('a'), live('b'), { info: { name: 'c', description: '', input } }], index: 2 },
    { returned: [() => ''], index: 0 },
  ])('is refused from a toolset’s factory, at its index: $returned', async ({ returned, index }) => {
    expect(await refused([toolset('files', ['a', 'b'], () => returned)])).toMatchObject({
      kind: 'invalid_tool',
      definition: 'files',
      index,
    });
  });

  test.each([
    { wrong: { sequential: 'yes' }, said: 'whose "sequential" must be true or false, not "yes"' },
    { wrong: { idempotent: 1 }, said: 'whose "idempotent" must be true or false, not 1' },
    { wrong: { resource: 'key' }, said: 'whose "resource" must be a function of the input, not "key"' },
    { wrong: { access: [] }, said: 'whose "access" must be a function of the input, not an array' },
    { wrong: { summary: null }, said: 'whose "summary" must be a function of the input, not null' },
    { wrong: { timeoutMs: -1 }, said: 'whose "timeoutMs" must be a positive number of milliseconds, not -1' },
    { wrong: { timeoutMs: '5' }, said: 'whose "timeoutMs" must be a positive number of milliseconds, not "5"' },
    { wrong: { timeoutMs: Number.NaN }, said: 'whose "timeoutMs" must be a positive number of milliseconds, not NaN' },
  ])('is a tool with $wrong', async ({ wrong, said }) => {
    const single = await refused([tool('read', () => ({ execute: () => '', ...wrong }))]);
    const several = await refused([toolset('files', ['a', 'b'], () => [live('a'), live('b', wrong)])]);

    expect(single).toMatchObject({ kind: 'invalid_tool', index: 0 });
    expect(single.message).toContain(said);
    expect(several).toMatchObject({ kind: 'invalid_tool', index: 1 });
    expect(several.message).toContain(said);
  });

  test('is a tool that throws when it is looked at', async () => {
    const cause = new Error('no');
    const hostile = {
      get execute(): never {
        throw cause;
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect(await refused([tool('read', () => hostile)])).toMatchObject({ kind: 'invalid_tool', index: 0, cause });
    expect((await refused([toolset('files', ['a'], () => [proxy])])).kind).toBe('invalid_tool');
  });

  test('is a list that throws when it is read', async () => {
    const hostile = Object.defineProperty([live('a')], 0, {
      get() {
        throw new Error('no');
      },
    });

    expect(await refused([toolset('files', ['a'], () => hostile)])).toMatchObject({ kind: 'invalid_tool', index: 0 });
    expect((await refused([tool('read', () => hostile)])).kind).toBe('invalid_tool');
  });

  test('is found before a bad info', async () => {
    expect(await refused([toolset('files', ['a'], () => [{ execute: () => '' }, null])])).toMatchObject({
      kind: 'invalid_tool',
      index: 1,
    });
  });
});

describe('8. the info of a toolset’s tool', () => {
  const withInfo = (info: unknown) => [toolset('files', ['a', 'b'], () => [live('a'), { info, execute: () => '' }])];

  test.each([undefined, null, 'b', 5, () => 1])('is missing where it is %j', async info => {
    expect(await refused(withInfo(info))).toMatchObject({ kind: 'invalid_tool_info', definition: 'files', index: 1 });
  });

  test.each(['', '  ', undefined, null, 5])('is refused with the blank name %j', async name => {
    expect(await refused(withInfo({ name, description: '', input }))).toMatchObject({
      kind: 'invalid_tool_info',
      definition: 'files',
      index: 1,
    });
  });

  test.each([STRUCTURED_OUTPUT_TOOL_NAME, 'a.b', 'x'.repeat(65)])('is refused with the name %s', async name => {
    const error = await refused(withInfo({ name, description: '', input }));

    expect(error).toMatchObject({ kind: 'invalid_tool_info', definition: 'files', tool: name, index: 1 });
  });

  test.each([undefined, null, 5, {}])('is refused with the description %j', async description => {
    expect(await refused(withInfo({ name: 'b', description, input }))).toMatchObject({
      kind: 'invalid_tool_info',
      tool: 'b',
      index: 1,
    });
  });

  test.each([undefined, 'object', z.string(), { type: 'array' }])(
    'is refused with an input that is no schema',
    async bad => {
      const error = await refused(withInfo({ name: 'b', description: '', input: bad }));

      expect(error).toMatchObject({ kind: 'invalid_tool_info', tool: 'b', index: 1 });
      expect(error.cause).toMatchObject({ kind: 'invalid_tool_schema' });
    },
  );

  test('is refused where it throws, with what it threw as the cause', async () => {
    const cause = new Error('no');
    const throwing = {
      get info(): never {
        throw cause;
      },
      execute: () => '',
    };
    const throwingName = {
      info: {
        get name(): never {
          throw cause;
        },
      },
      execute: () => '',
    };

    for (const tool of [throwing, throwingName]) {
      expect(await refused([toolset('files', ['a'], () => [tool])])).toMatchObject({
        kind: 'invalid_tool_info',
        index: 0,
        cause,
      });
    }
  });

  test('is read once', async () => {
    let reads = 0;
    const shifty = {
      get info() {
        reads += 1;
        return { name: reads === 1 ? 'a' : STRUCTURED_OUTPUT_TOOL_NAME, description: '', input };
      },
      execute: () => '',
    };
    const bound = await bind([toolset('files', ['a'], () => [shifty])]);

    expect(bound.tools.map(({ info }) => info.name)).toEqual(['a']);
    expect(reads).toBe(1);
  });

  test('is found wrong before the names are compared', async () => {
    const tools = [toolset('files', ['a'], () => [live('x'), { info: undefined, execute: () => '' }])];

    expect((await refused(tools)).kind).toBe('invalid_tool_info');
  });
});

describe('9. the names that a toolset builds', () => {
  test.each([
    { declared: ['a', 'b'], actual: ['a'] },
    { declared: ['a'], actual: ['a', 'b'] },
    { declared: ['a', 'b'], actual: ['a', 'a'] },
    { declared: ['a'], actual: ['a', 'a'] },
    { declared: ['a'], actual: ['A'] },
    { declared: ['a'], actual: [] },
  ])('must be those declared: $declared, not $actual', async ({ declared, actual }) => {
    const error = await refused([toolset('files', declared, () => actual.map(name => live(name)))]);

    expect(error).toMatchObject({ kind: 'produced_names_mismatch', definition: 'files', declared, actual });
    expect(error.message).toBe(
      `the factory of "files" built [${actual.join(', ')}], but declares [${declared.join(', ')}]`,
    );
  });

  test('may come in another order', async () => {
    const bound = await bind([toolset('files', ['a', 'b'], () => [live('b'), live('a')])]);

    expect(bound.tools.map(({ info }) => info.name)).toEqual(['b', 'a']);
  });
});

describe('10. two tools with one name for the model', () => {
  const one = toolset('one', ['read', 'list'], () => [live('read'), live('list')]);
  const other = toolset('other', ['write', 'list'], () => [live('write'), live('list')]);

  test.each([
    { where: 'in the base', loop: loopOf([one, other]), extraTools: [] },
    { where: 'in base and extras', loop: loopOf([one]), extraTools: [other] },
    {
      where: 'in base and a mode',
      loop: loopOf([one], { modes: { plan: { tools: [other] } }, initialMode: 'plan' }),
      extraTools: [],
    },
  ])('are refused $where, and both sources are named', async ({ loop, extraTools }) => {
    const error = await refusal(loop.bind({ ...ids, extraTools }));

    expect(error).toMatchObject({ kind: 'duplicate_tool_name', definition: 'other', tool: 'list' });
    expect(error.message).toContain('"one" and "other" both build a tool named "list"');
  });

  test('are refused after every factory has run, and all is disposed of', async () => {
    const log: string[] = [];
    const same = toolset('same', ['read'], () => [
      live('read', { [Symbol.dispose]: () => void log.push('dispose same') }),
    ]);

    expect((await refused([tracked(log).tool('read'), same])).kind).toBe('duplicate_tool_name');
    expect(log).toEqual(['create read', 'dispose same', 'dispose read']);
  });

  test('may differ in case alone', async () => {
    expect((await bind([tool('read'), tool('Read')])).tools).toHaveLength(2);
  });
});

describe('a bound loop', () => {
  const [read, write, extra] = [tool('read'), tool('write'), tool('extra')];
  const other = stubModel('stub-2');
  const pass: ToolMiddleware = (_, next) => next();
  const loop = defineLoop({
    name: 'coder',
    model,
    system: 'Base.',
    tools: [read],
    limits: { calls: 9 },
    settings: { temperature: 0 },
    modes: {
      plan: { model: other, tools: [write, read], limits: { calls: 3 }, instructions: 'Plan.', settings: { seed: 1 } },
      act: {},
    },
    initialMode: 'plan',
    middlewares: [pass],
    output: { type: 'object' },
    stream: false,
  });
  const names = (tools: readonly { readonly info: { readonly name: string } }[] | undefined) =>
    tools?.map(({ info }) => info.name);

  test('says whose it is and how it behaves', async () => {
    const bound = await loop.bind(ids);

    expect(bound).toMatchObject({ name: 'coder', ...ids });
    expect(bound.behaviour).toBe(loop.behaviour);
    expect(bound.output).toBe(loop.output);
    expect(await bound.middleware?.({} as never, async () => toolResult('x'))).toEqual(toolResult('x'));
    expect((await bind([])).middleware).toBeUndefined();
  });

  test('has the base mode first, then the declared modes in their order', async () => {
    const bound = await loop.bind(ids);

    expect(bound.modes.map(({ name }) => name)).toEqual(['', 'plan', 'act']);
    expect(bound.mode('')).toBe(bound.modes[0]);
    expect(bound.mode('plan')).toBe(bound.modes[1]);
    for (const unknown of ['nope', 'toString', '__proto__', 'constructor']) {
      expect(bound.mode(unknown)).toBeUndefined();
    }
  });

  test('gives each mode its model, system text, tools, limits and settings', async () => {
    const bound = await loop.bind(ids);

    expect(bound.mode('plan')).toMatchObject({
      model: { modelId: 'stub-2' },
      system: 'Base.\n\nPlan.',
      limits: { calls: 3 },
      settings: { temperature: 0, seed: 1 },
    });
    expect(names(bound.mode('plan')?.tools)).toEqual(['write', 'read']);
    expect(bound.mode('act')).toMatchObject({ model: { modelId: 'stub-1' }, system: 'Base.', limits: { calls: 9 } });
    expect(names(bound.mode('act')?.tools)).toEqual(['read']);
    expect(names(bound.mode('')?.tools)).toEqual(['read']);
  });

  test('shows tools, limits, model and system text of the initial mode', async () => {
    const bound = await loop.bind(ids);
    const { tools, limits, model: initial, system } = bound;

    expect(bound.initialMode).toBe(bound.mode('plan'));
    expect({ tools, limits, system }).toEqual({
      tools: bound.initialMode.tools,
      limits: bound.initialMode.limits,
      system: 'Base.\n\nPlan.',
    });
    expect(initial).toBe(other);
  });

  test('shows those of the base mode where there is no other', async () => {
    const bound = await bind([read]);

    expect(bound.initialMode).toBe(bound.mode(''));
    expect(names(bound.tools)).toEqual(['read']);
    expect(bound.model).toBe(model);
    expect(bound.system).toBe('');
    expect(bound.limits.calls).toBe(100);
  });

  test('has the extra tools behind those of the base and of every mode, each once', async () => {
    const bound = await loop.bind({ ...ids, extraTools: [extra, read] });

    expect(bound.modes.map(({ tools }) => names(tools))).toEqual([
      ['read', 'extra'],
      ['write', 'read', 'extra'],
      ['read', 'extra'],
    ]);
  });

  test('tells the model of a mode’s tools in one frozen list for all requests', async () => {
    const mode = (await loop.bind(ids)).mode('plan');

    expect(mode?.modelTools).toEqual([
      { type: 'function', name: 'write', description: 'Does write.', inputSchema: { type: 'object' } },
      { type: 'function', name: 'read', description: 'Does read.', inputSchema: { type: 'object' } },
    ]);
    expect(mode?.modelTools).toBe(mode?.modelTools);
    expect(Object.isFrozen(mode?.modelTools)).toBe(true);
    expect(Object.isFrozen(mode?.modelTools[0])).toBe(true);
  });

  test('finds a tool of a mode by its own name only', async () => {
    const mode = (await bind([read, tool('constructor')])).mode('');

    expect(mode?.tool('read')?.info.name).toBe('read');
    expect(mode?.tool('constructor')?.info.name).toBe('constructor');
    for (const unknown of ['toString', '__proto__', 'write', '']) expect(mode?.tool(unknown)).toBeUndefined();
  });

  test('cannot be changed through what it gives out', async () => {
    const bound = await loop.bind({ ...ids, extraTools: [extra] });
    const parts: readonly unknown[] = [
      bound,
      bound.modes,
      bound.tools,
      bound.limits,
      ...bound.modes.flatMap(mode => [mode, mode.tools, mode.limits, mode.settings, mode.modelTools]),
      ...bound.tools.flatMap(bound => [bound, bound.info, bound.info.inputSchema]),
    ];

    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
    expect(() => (bound.tools as unknown[]).push('x')).toThrow(TypeError);
    expect(() => Object.assign(bound.limits, { calls: 1 })).toThrow(TypeError);
    expect(bound.limits.calls).toBe(3);
  });

  test('is not touched by what the caller does to its extra tools later', async () => {
    const extraTools = [extra];
    const bound = await bind([], { ...ids, extraTools });
    extraTools.push(read);

    expect(names(bound.tools)).toEqual(['extra']);
  });

  test('shows a toolset’s tools with what each says it is', async () => {
    const schema = z.object({ n: z.number() });
    const counter = liveTool({ info: { name: 'count', description: '', input: schema }, execute: ({ n }) => n });
    const [bound] = (await bind([toolset('counters', ['count'], () => [counter])])).tools;

    expect(bound?.info).toMatchObject({ name: 'count', description: '', inputSchema: { required: ['n'] } });
    expect(bound?.definition).toBe('counters');
    expect(await bound?.validate({ n: 'x' })).toMatchObject({ issues: [{ path: 'n' }] });
  });
});

describe('factories of one bind', () => {
  test('run once per definition, however many modes use it, and all use one instance', async () => {
    const log: string[] = [];
    const shared = tracked(log).tool('read');
    const loop = loopOf([shared, shared], {
      modes: { plan: { tools: [shared, shared] }, act: {} },
      initialMode: 'plan',
    });
    const bound = await loop.bind({ ...ids, extraTools: [shared] });

    expect(log).toEqual(['create read']);
    expect(bound.modes.map(({ tools }) => tools)).toEqual(Array.from({ length: 3 }, () => [bound.tools[0]]));
    expect(new Set(bound.modes.map(mode => mode.tool('read'))).size).toBe(1);
  });

  test('run anew in a second bind', async () => {
    const log: string[] = [];
    const loop = loopOf([tracked(log).tool('read')]);
    const [one, two] = [await loop.bind(ids), await loop.bind({ ...ids, sessionId: 's2' })];

    expect(log).toEqual(['create read', 'create read']);
    expect(one.tools[0]).not.toBe(two.tools[0]);
    expect(one.tools[0]?.live).not.toBe(two.tools[0]?.live);
  });

  test('run in order, one at a time', async () => {
    const log: string[] = [];
    const slow = (name: string) =>
      tool(name, async () => {
        log.push(`${name} starts`);
        await new Promise(resolve => setImmediate(resolve));
        log.push(`${name} ends`);
        return () => '';
      });
    const loop = loopOf([slow('a'), slow('b')], { modes: { plan: { tools: [slow('c')] } }, initialMode: 'plan' });
    await loop.bind({ ...ids, extraTools: [slow('d')] });

    expect(log).toEqual(['a', 'b', 'c', 'd'].flatMap(name => [`${name} starts`, `${name} ends`]));
  });

  test('may give their live tool as a promise, and a bare function', async () => {
    const bound = await bind([tool('a', async () => () => 'from a'), tool('b', () => ({ execute: () => 'from b' }))]);
    const call = ids as never;

    expect(bound.tools.map(each => each.execute({}, call))).toEqual(['from a', 'from b']);
  });
});

describe('disposing of a bound loop', () => {
  const asyncDisposer = (log: string[], name: string) => ({
    [Symbol.asyncDispose]: async () => {
      await Promise.resolve();
      log.push(`dispose ${name}`);
    },
  });

  test('disposes of its live tools, the last built first, one after the other', async () => {
    const log: string[] = [];
    const { tool: trackedTool } = tracked(log);
    const files = toolset('files', ['d', 'e'], () => [
      live('d', asyncDisposer(log, 'd')),
      live('e', asyncDisposer(log, 'e')),
    ]);
    const bound = await bind([trackedTool('a'), trackedTool('b', asyncDisposer(log, 'b')), tool('c'), files]);
    log.length = 0;
    await bound[Symbol.asyncDispose]();

    expect(log).toEqual(['dispose e', 'dispose d', 'dispose b', 'dispose a']);
  });

  test('happens at the end of a block with await using', async () => {
    const log: string[] = [];
    {
      await using bound = await bind([tracked(log).tool('a')]);
      log.push(bound.name);
    }

    expect(log).toEqual(['create a', 'coder', 'dispose a']);
  });

  test('prefers the asynchronous disposer, calls it on the tool, and takes a function’s own too', async () => {
    const log: string[] = [];
    class Live {
      readonly name = 'a';
      execute(): string {
        return this.name;
      }
      [Symbol.dispose](): void {
        log.push('wrong one');
      }
      async [Symbol.asyncDispose](): Promise<void> {
        log.push(this.name);
      }
    }
    const withDisposer = Object.assign(() => '', { [Symbol.dispose]: () => void log.push('function') });
    const bound = await bind([tool('a', () => new Live()), tool('b', () => withDisposer)]);
    await bound[Symbol.asyncDispose]();

    expect(log).toEqual(['function', 'a']);
  });

  test('happens once, and a second call waits for the first', async () => {
    const log: string[] = [];
    const bound = await bind([tracked(log).tool('a', asyncDisposer(log, 'a'))]);
    const first = bound[Symbol.asyncDispose]();
    await bound[Symbol.asyncDispose]();

    expect(log).toEqual(['create a', 'dispose a']);
    await first;
    await bound[Symbol.asyncDispose]();
    expect(log).toEqual(['create a', 'dispose a']);
  });

  test('disposes once of an instance that two factories return', async () => {
    const log: string[] = [];
    const shared = { execute: () => '', [Symbol.dispose]: () => void log.push('dispose') };
    const bound = await bind([tool('a', () => shared), tool('b', () => shared)]);
    await bound[Symbol.asyncDispose]();

    expect(log).toEqual(['dispose']);
  });

  test('waits 10 seconds for a disposer that never settles, goes on, and says that it was left behind', async () => {
    const hang = () => new Promise<void>(() => {});
    const log: string[] = [];
    const { tool: trackedTool } = tracked(log);
    const tools = [trackedTool('a'), trackedTool('b', { [Symbol.asyncDispose]: hang }), trackedTool('c')];
    const clock = manualClock();
    const bound = await bind(tools, ids, { clock });
    log.length = 0;
    const failed = bound[Symbol.asyncDispose]().then(
      () => undefined,
      (error: unknown) => error,
    );
    await clock.advance(9_999);
    expect(log).toEqual(['dispose c']);
    await clock.advance(1);
    const error = await failed;
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors).toMatchObject([{ name: 'BindError', kind: 'left_behind' }]);
    expect(log).toEqual(['dispose c', 'dispose a']);
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
  });

  test('goes on past disposers that throw, and then throws what they threw, once', async () => {
    const log: string[] = [];
    const { tool: trackedTool } = tracked(log);
    const [first, second] = [new Error('first'), new Error('second')];
    const bound = await bind([
      trackedTool('a'),
      trackedTool('b', {
        [Symbol.dispose]: () => {
          throw second;
        },
      }),
      trackedTool('c', { [Symbol.asyncDispose]: () => Promise.reject(first) }),
      trackedTool('d'),
      trackedTool('e', {
        get [Symbol.dispose](): undefined {
          return undefined;
        },
      }),
    ]);
    log.length = 0;
    const failed: unknown = await bound[Symbol.asyncDispose]().then(
      () => undefined,
      error => error,
    );

    expect(failed).toBeInstanceOf(AggregateError);
    expect((failed as AggregateError).errors).toEqual([first, second]);
    expect((failed as AggregateError).message).toBe('2 tools of loop "coder" could not be disposed of');
    expect(log).toEqual(['dispose d', 'dispose a']);
    await expect(bound[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });
});

describe('a bind that fails', () => {
  test('disposes of what it had built, the last first, the tools of the failed factory included', async () => {
    const log: string[] = [];
    const disposing = (name: string) => ({ [Symbol.dispose]: () => void log.push(`dispose ${name}`) });
    const files = toolset('files', ['c', 'd', 'e'], () => [live('c', disposing('c')), null, live('e', disposing('e'))]);

    expect((await refused([tracked(log).tool('a'), tracked(log).tool('b'), files])).kind).toBe('invalid_tool');
    expect(log).toEqual(['create a', 'create b', 'dispose e', 'dispose c', 'dispose b', 'dispose a']);
  });

  test('says why it failed, whatever disposers throw', async () => {
    const log: string[] = [];
    const broken = tracked(log).tool('b', { [Symbol.asyncDispose]: () => Promise.reject(new Error('stuck')) });
    const error = await refused([tracked(log).tool('a'), broken, tool('c', () => null)]);

    expect(error).toMatchObject({ kind: 'invalid_tool', definition: 'c' });
    expect(log).toEqual(['create a', 'create b', 'dispose a']);
  });

  test('leaves the definition as it was: it can be bound again', async () => {
    let attempts = 0;
    const loop = loopOf([
      tool('flaky', () => {
        attempts += 1;
        if (attempts === 1) throw new Error('not yet');
        return () => '';
      }),
    ]);

    expect((await refusal(loop.bind(ids))).kind).toBe('factory_failed');
    expect((await loop.bind(ids)).tools).toHaveLength(1);
  });
});

describe('an abort during a bind', () => {
  test('refuses it, runs no further factory and disposes of all, what the running factory returns included', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const aborting = tool('b', async () => {
      log.push('create b');
      controller.abort(new Error('gone'));
      await Promise.resolve();
      return { execute: () => '', [Symbol.dispose]: () => void log.push('dispose b') };
    });
    const error = await refused([tracked(log).tool('a'), aborting, tracked(log).tool('c')], ids, {
      signal: controller.signal,
    });

    expect(error).toMatchObject({ kind: 'aborted', cause: { message: 'gone' } });
    expect(log).toEqual(['create a', 'create b', 'dispose b', 'dispose a']);
  });

  test('wins over what the factory throws because of it', async () => {
    const controller = new AbortController();
    const failing = tool('a', () => {
      controller.abort();
      throw new Error('interrupted');
    });

    expect((await refused([failing], ids, { signal: controller.signal })).kind).toBe('aborted');
  });

  test('does not wait for a factory that never ends', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const hanging = tool('b', () => {
      setImmediate(() => controller.abort());
      return new Promise(() => undefined);
    });

    expect((await refused([tracked(log).tool('a'), hanging], ids, { signal: controller.signal })).kind).toBe('aborted');
    expect(log).toEqual(['create a', 'dispose a']);
  });

  test('disposes later of what a factory returns later', async () => {
    const log: string[] = [];
    const controller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<object>();
    const disposed = Promise.withResolvers<void>();
    const slow = tool('a', () => {
      setImmediate(() => controller.abort());
      return promise;
    });
    await refused([slow], ids, { signal: controller.signal });
    expect(log).toEqual([]);

    resolve({
      execute: () => '',
      [Symbol.dispose]: () => {
        log.push('dispose a');
        disposed.resolve();
      },
    });
    await disposed.promise;

    expect(log).toEqual(['dispose a']);
  });

  test('after the bind changes nothing', async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const bound = await bind([tracked(log).tool('a')], ids, { signal: controller.signal });
    controller.abort();
    await new Promise(resolve => setImmediate(resolve));

    expect(log).toEqual(['create a']);
    expect(bound.tools).toHaveLength(1);
  });
});
