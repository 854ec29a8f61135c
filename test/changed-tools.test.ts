/** A toolset whose tools say something else of themselves while their session is open: the next turn is told. */
import { defineLoop, defineRig, defineToolset, type ToolInfo } from 'looprig';
import { collect, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { resultsIn } from './cases/setup.ts';

const takes = (field: string) =>
  ({ type: 'object', properties: { [field]: { type: 'string' } }, required: [field] }) as const;

/** A session with a tool whose `info` is what `told` says at that moment. */
async function open(first: () => unknown, replies: readonly ScriptedReply[]) {
  let told = first;
  const model = scriptedModel(replies);
  const tools = defineToolset({
    name: 'set',
    produces: ['t'],
    create: () => [
      {
        get info() {
          return told() as ToolInfo;
        },
        execute: input => JSON.stringify(input),
      },
    ],
  });
  const session = await defineRig({ loops: [defineLoop({ name: 'loop', model, tools: [tools] })] }).open();
  const say = (next: () => unknown): void => {
    told = next;
  };
  const schemas = () =>
    model.requests.map(({ tools }) =>
      tools?.map(tool =>
        'inputSchema' in tool ? [tool.description, Object.keys(tool.inputSchema.properties ?? {})] : [],
      ),
    );
  return { session, say, schemas, turn: () => collect(session.submit('go')) };
}

const info = (description: string, field: string) => {
  const made = { name: 't', description, input: takes(field) };
  return () => made;
};

const uses = (input: object): ScriptedReply => ({ calls: [{ tool: 't', input }] });
const done: ScriptedReply = { text: 'done' };

it('is told to the model, and its arguments are checked, as it says at the begin of the turn', async () => {
  const opened = await open(info('one', 'a'), [uses({ a: 'x' }), done, uses({ a: 'x' }), uses({ b: 'y' }), done]);
  await opened.turn();
  opened.say(info('two', 'b'));
  await opened.turn();
  expect(opened.schemas().map(tools => tools?.[0])).toEqual([
    ...[
      ['one', ['a']],
      ['one', ['a']],
    ],
    ...[
      ['two', ['b']],
      ['two', ['b']],
      ['two', ['b']],
    ],
  ]);
  expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([
    '{"a":"x"}',
    expect.stringContaining('do not fit the schema of "t"'),
    '{"b":"y"}',
  ]);
});

it.each<readonly [string, () => unknown]>([
  ['nothing', () => undefined],
  ['no schema', () => ({ name: 't', description: 'two', input: 7 })],
  ['no description', () => ({ name: 't', input: takes('b') })],
  [
    'what cannot be read',
    () => {
      throw new Error('not now');
    },
  ],
])('stays as it was where it says %s', async (_, wrong) => {
  const opened = await open(info('one', 'a'), [done, done, done]);
  await opened.turn();
  opened.say(wrong);
  await opened.turn();
  opened.say(info('three', 'c'));
  await opened.turn();
  expect(opened.schemas().map(tools => tools?.[0])).toEqual([
    ['one', ['a']],
    ['one', ['a']],
    ['three', ['c']],
  ]);
});

it('keeps the name that it was bound with', async () => {
  const opened = await open(info('one', 'a'), [done, uses({ b: 'y' }), done]);
  await opened.turn();
  opened.say(() => ({ name: 'other', description: 'two', input: takes('b') }));
  await opened.turn();
  expect(resultsIn(opened.session.history)).toEqual([[expect.any(String), '{"b":"y"}']]);
});
