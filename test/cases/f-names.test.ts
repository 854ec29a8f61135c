/** Cases of names and of the tools that a mode has. */
import {
  BindError,
  DefinitionError,
  defineLoop,
  defineRig,
  defineTool,
  defineToolset,
  liveTool,
  type ToolDefinition,
} from 'looprig';
import { manualClock, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, openLoop, outcomes, play, resultsIn, saying, toolsOffered } from './setup.ts';

const input = { type: 'object' } as const;
const done: ScriptedReply = { text: 'done' };

/** A source of tools: a factory that builds tools of these names. */
function source(
  name: string,
  produces: readonly string[],
  builds: readonly string[] = produces,
  access = false,
): ToolDefinition {
  return defineToolset({
    name,
    produces,
    create: () =>
      builds.map(built =>
        liveTool({
          info: { name: built, description: `${built} of ${name}`, input },
          execute: () => name,
          ...(access ? { access: () => [{ action: 'write', target: 'x' }] } : {}),
        }),
      ),
  });
}

async function refusal(tools: readonly ToolDefinition[], extraTools: readonly ToolDefinition[] = [], modes = false) {
  const model = saying();
  const [first, ...others] = tools;
  const loop = modes
    ? defineLoop({
        name: 'case',
        model,
        modes: { one: { tools: [first!] }, two: { tools: others } },
        initialMode: 'one',
      })
    : defineLoop({ name: 'case', model, tools });
  const refused = await defineRig({ loops: [loop], clock: manualClock() })
    .open({ extraTools })
    .then(() => undefined)
    .catch((error: unknown) => error);
  expect(model.count).toBe(0);
  expect(refused).toBeInstanceOf(BindError);
  return refused as BindError;
}

describe('two sources of one name', () => {
  const crm = source('crm', ['create_item', 'list_items']);
  const shop = source('shop', ['create_item']);

  it.each([
    ['in one loop', () => refusal([crm, shop])],
    ['one of them for this session alone', () => refusal([crm], [shop])],
    ['in two modes', () => refusal([crm, shop], [], true)],
    [
      'a toolset and a tool',
      () => refusal([crm, defineTool({ name: 'create_item', description: 'Creates.', input, execute: () => 'ok' })]),
    ],
  ])('case 47: are refused before the model is asked, by an error that names both (%s)', async (_, refuse) => {
    const error = await refuse();
    expect(error).toMatchObject({ kind: 'duplicate_tool_name', tool: 'create_item' });
    expect(error.message).toContain('"crm"');
    expect(error.message).toMatch(/"shop"|"create_item" both/);
  });

  it('case 47: so are two definitions of one name, whatever they build', async () => {
    expect(await refusal([source('crm', ['a']), source('crm', ['b'])])).toMatchObject({
      kind: 'duplicate_definition_name',
      definition: 'crm',
    });
    const tool = () => defineTool({ name: 'create_item', description: 'Creates.', input, execute: () => 'ok' });
    expect(await refusal([tool(), tool()])).toMatchObject({
      kind: 'duplicate_definition_name',
      definition: 'create_item',
    });
  });

  it('case 47: a name that providers would clean into another one is refused where it is declared', () => {
    expect(() => source('dotted', ['a.b'])).toThrow(DefinitionError);
    expect(() => defineTool({ name: 'a.b', description: 'Acts.', input, execute: () => 'ok' })).toThrow(
      /"a\.b" is a name that model providers refuse/,
    );
  });

  it('case 47: the same definition listed twice is one tool', async () => {
    const model = saying({ calls: [{ tool: 'create_item', id: 'c1' }] }, done);
    const loop = defineLoop({ name: 'case', model, tools: [shop, shop] });
    const opened = await openLoop(loop, model);
    await play(opened);
    expect(toolsOffered(model)[0]).toEqual(['create_item']);
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'shop']]);
    await expectNextTurn(opened);
  });

  it.each([
    [true, false],
    [false, true],
  ])(
    'case 49: two tools of one name are refused whichever of them needs approval, in either order',
    async (first, second) => {
      const one = source('one', ['write'], ['write'], first);
      const two = source('two', ['write'], ['write'], second);
      for (const tools of [
        [one, two],
        [two, one],
      ]) {
        expect(await refusal(tools)).toMatchObject({ kind: 'duplicate_tool_name', tool: 'write' });
        expect(await refusal([tools[0]!], [tools[1]!])).toMatchObject({ kind: 'duplicate_tool_name', tool: 'write' });
      }
    },
  );
});

describe('tools that the mode does not have', () => {
  const setUp = async (...replies: ScriptedReply[]) => {
    const [read, write, extra] = [scriptedTool('read'), scriptedTool('write'), scriptedTool('extra')];
    const model = saying(...replies);
    const loop = defineLoop({
      name: 'case',
      model,
      tools: [extra.definition],
      modes: { edit: { tools: [read.definition, write.definition] }, look: { tools: [read.definition] } },
      initialMode: 'edit',
    });
    return { opened: await openLoop(loop, model), read, write, extra, model };
  };
  const callWrite = (id: string): ScriptedReply => ({
    calls: [
      { tool: 'write', id },
      { tool: 'read', id: `${id}r` },
    ],
  });

  it('case 48: a tool that was there before the mode changed is neither offered nor run', async () => {
    const { opened, read, write, model } = await setUp(callWrite('c1'), done, callWrite('c2'), done);
    await play(opened);
    await opened.session.setMode('look');
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect([write.count, read.count]).toEqual([1, 2]);
    expect(toolsOffered(model)).toEqual([['read', 'write'], ['read', 'write'], ['read'], ['read']]);
    expect(outcomes(events)).toEqual([
      ['c2', 'refused'],
      ['c2r', 'done'],
    ]);
    expect(new Map(resultsIn(opened.session.history)).get('c2')).toBe('tool "write" is not available now');
    await expectNextTurn(opened);
  });

  it('case 48: a tool of the base mode is not run in a mode that has others, and one of no mode is unknown', async () => {
    const { opened, extra } = await setUp(
      {
        calls: [
          { tool: 'extra', id: 'c1' },
          { tool: 'ghost', id: 'c2' },
        ],
      },
      done,
    );
    await play(opened);
    expect(extra.count).toBe(0);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'tool "extra" is not available now'],
      ['c2', expect.stringContaining('unknown tool "ghost"')],
    ]);
    await expectNextTurn(opened);
  });

  it('case 48: back in its mode the tool runs again', async () => {
    const { opened, write } = await setUp(callWrite('c1'), done, callWrite('c2'), done);
    await opened.session.setMode('look');
    await play(opened);
    await opened.session.setMode('edit');
    await play(opened);
    expect(write.runs.map(({ callId }) => callId)).toEqual(['c2']);
    await expectNextTurn(opened);
  });

  it('case 48: a change of mode in the middle of a turn holds from the next one', async () => {
    const { opened, write, model } = await setUp(callWrite('c1'), callWrite('c2'), done, callWrite('c3'), done);
    const turn = opened.session.submit('go');
    for await (const event of turn) if (event.type === 'tool.called') break;
    await opened.session.setMode('look');
    expect(await turn.result).toMatchObject({ status: 'done' });
    await play(opened);
    expect(write.runs.map(({ callId }) => callId)).toEqual(['c1', 'c2']);
    expect(toolsOffered(model).map(({ length }) => length)).toEqual([2, 2, 2, 1, 1]);
    await expectNextTurn(opened);
  });

  it('case 48: a tool for one session alone is in every mode of that session, and unknown in another', async () => {
    const own = scriptedTool('own');
    const model = saying({ calls: [{ tool: 'own', id: 'c1' }] }, done, { calls: [{ tool: 'own', id: 'c2' }] }, done);
    const rig = defineRig({
      loops: [defineLoop({ name: 'case', model, modes: { one: {}, two: {} }, initialMode: 'one' })],
      clock: manualClock(),
    });
    const first = await rig.open({ extraTools: [own.definition] });
    await first.setMode('two');
    await first.submit('go').result;
    expect(own.count).toBe(1);
    const second = await rig.open();
    await second.submit('go').result;
    expect(own.count).toBe(1);
    expect(resultsIn(second.history)).toEqual([['c2', 'unknown tool "own": there are no tools here']]);
  });
});

describe('names that providers refuse', () => {
  const names = ['basic/search', 'a.b', 'a b', 'a:b', 'suche_für', '漢字', '😀', ' a', 'a\n', 'a'.repeat(65)];

  it.each(names)('case 50: %j is refused where it is declared, by an error that names it', name => {
    const declared = (): unknown => source('basic', ['ok', name]);
    expect(declared).toThrow(DefinitionError);
    expect(declared).toThrow(expect.objectContaining({ kind: 'invalid_tool_name', field: 'produces[1]', value: name }));
    const tool = (): unknown => defineTool({ name, description: 'Acts.', input, execute: () => 'ok' });
    expect(tool).toThrow(expect.objectContaining({ kind: 'invalid_tool_name', field: 'name', value: name }));
    expect(tool).toThrow(JSON.stringify(name).slice(1, 20));
  });

  it.each(names)('case 50: %j is refused at bind where only the factory says it', async name => {
    const error = await refusal([source('basic', ['ok'], [name])]);
    expect(error).toMatchObject({ kind: 'invalid_tool_info', definition: 'basic', tool: name, index: 0 });
  });

  it.each(['', ' ', 7])('case 50: so is the blank or missing name %j', async name => {
    expect(await refusal([source('basic', ['ok'], [name as string])])).toMatchObject({
      kind: 'invalid_tool_info',
      index: 0,
    });
  });

  it.each(['a', '_', '-', 'A-b_9', 'a'.repeat(64), 'constructor', '__proto__'])(
    'case 50: %j is taken, and reaches the model as it is',
    async name => {
      const model = saying({ calls: [{ tool: name, id: 'c1' }] }, done);
      const opened = await openLoop(defineLoop({ name: 'case', model, tools: [source('basic', [name])] }), model);
      expect((await play(opened)).result).toMatchObject({ status: 'done' });
      expect(toolsOffered(model)[0]).toEqual([name]);
      expect(resultsIn(opened.session.history)).toEqual([['c1', 'basic']]);
      await expectNextTurn(opened);
    },
  );
});
