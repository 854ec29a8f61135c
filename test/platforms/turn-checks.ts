/** One process, one session: turns, batches, limits, interrupts, typed answers, delegates. */
import { defineLoop, defineRig, defineTool, delegate, ModelError, type ToolDefinition, ToolLimitError } from 'looprig';
import { retry } from 'looprig/middleware/retry';
import { assertPaired, collect, forever, manualClock, scriptedModel, scriptedTool } from 'looprig/testing';
import { z } from 'zod';
import { check, holds, type PlatformCheck, same } from './check.ts';

type Replies = Parameters<typeof scriptedModel>[0];
type LoopOptions = Parameters<typeof defineLoop>[0];

/** A session of one loop, in a store in memory. */
function open(replies: Replies, tools: readonly ToolDefinition[], options: Partial<LoopOptions> = {}) {
  const loop = defineLoop({ name: 'l', model: scriptedModel(replies), tools, ...options });
  return defineRig({ loops: [loop] }).open();
}

/** The results that the history has, as texts. */
export function resultsIn(history: readonly { readonly role: string; readonly content: unknown }[]): string[] {
  const parts = history.flatMap(({ role, content }) => (role === 'tool' && Array.isArray(content) ? content : []));
  return parts.map(({ output }) => (typeof output.value === 'string' ? output.value : JSON.stringify(output.value)));
}

const call = (tool: string, input: object = {}) => ({ tool, input });

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

export const TURN_CHECKS: readonly PlatformCheck[] = [
  check('a turn runs the tools that its model asks for, and gives its answer', async () => {
    await using session = await open(
      [{ calls: [call('add', { a: 2, b: 3 })] }, { text: 'It is 5.', deltas: 3 }],
      [add],
    );
    const { result, events } = await collect(session.submit('2 and 3?'));
    same([result.status, result.text, result.calls, result.iterations], ['done', 'It is 5.', 1, 1]);
    same(resultsIn(session.history), ['5']);
    same(events.filter(({ type }) => type === 'text.delta').length, 3);
    same(events.at(-1)?.type, 'turn.done');
  }),

  check('a model that generates and does not stream is taken as well', async () => {
    await using session = await open([{ text: 'Hello.' }], [], { stream: false });
    same((await session.run('Hi')).text, 'Hello.');
  }),

  check(
    'arguments that fit no schema, JSON Schema or of zod, are told to the model, and the tool does not run',
    async () => {
      const input = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] } as const;
      const strict = scriptedTool('strict', { input });
      const calls = [call('strict', { n: 0 }), call('add', { a: 'two', b: 3 }), call('strict', { n: 1 })];
      await using session = await open([{ calls }, { text: '.' }], [strict.definition, add]);
      await session.run('Go.');
      const [first, second, third] = resultsIn(session.history);
      holds(first, 'do not fit the schema of "strict"');
      holds(second, 'do not fit the schema of "add"');
      same([third, strict.count], ['ok', 1]);
    },
  ),

  check('never more than "parallel" calls run, and results stand in call order', async () => {
    const slow = scriptedTool('slow', { sleepMs: ({ n }) => 40 - Number(n) * 5, returns: ({ n }) => `n${n}` });
    const calls = [0, 1, 2, 3, 4, 5].map(n => call('slow', { n }));
    await using session = await open([{ calls }, { text: '.' }], [slow.definition], { limits: { parallel: 3 } });
    await session.run('Go.');
    same([slow.peak, resultsIn(session.history)], [3, ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']]);
  }),

  check('calls on one resource run one after the other, and others overtake them', async () => {
    const write = scriptedTool('write', { sleepMs: 10, resource: ({ file }) => String(file) });
    const calls = ['a', 'a', 'b'].map((file, n) => ({ id: `c${n}`, ...call('write', { file }) }));
    await using session = await open([{ calls }, { text: '.' }], [write.definition]);
    await session.run('Go.');
    same([write.overlapped('c0', 'c1'), write.overlapped('c0', 'c2')], [false, true]);
  }),

  check('a batch beyond a limit does not run, and the turn ends with the limit that it was', async () => {
    const search = scriptedTool('search', ({ n }) => `page ${n}`);
    const replies = forever((_: unknown, n: number) => ({
      calls: [call('search', { n }), call('search', { n: -n - 1 })],
    }));
    await using session = await open(replies, [search.definition], { limits: { calls: 5 } });
    const { status, ...end } = await session.submit('Go.').result;
    const error = 'error' in end ? end.error : undefined;
    same([status, ToolLimitError.is(error) && error.limit, search.count], ['failed', 'calls', 4]);
    assertPaired(session.history);
  }),

  check('at a limit there is one closing answer, where the loop says so', async () => {
    const search = scriptedTool('search', ({ n }) => `page ${n}`);
    const replies = forever(({ toolChoice }: { toolChoice?: { type: string } }, n: number) =>
      toolChoice?.type === 'none' ? { text: 'Enough.' } : { calls: [call('search', { n })] },
    );
    await using session = await open(replies, [search.definition], { limits: { iterations: 2 }, atLimit: 'answer' });
    const result = await session.run('Go.');
    same([result.text, result.limited?.limit, search.count], ['Enough.', 'iterations', 2]);
  }),

  check('a tool that never returns is answered for after its time', async () => {
    const clock = manualClock();
    const stuck = scriptedTool('stuck', { hangs: true });
    const model = scriptedModel([{ calls: [call('stuck')] }, { text: '.' }]);
    const loop = defineLoop({ name: 'l', model, tools: [stuck.definition], limits: { callTimeoutMs: 3_600_000 } });
    await using session = await defineRig({ loops: [loop], clock }).open();
    await clock.runUntil(session.run('Go.'));
    holds(resultsIn(session.history)[0], 'timed out after 3600000 ms');
  }),

  check('an interrupt ends a turn whose tool does not heed it, and each call has its one result', async () => {
    const stuck = scriptedTool('stuck', { hangs: true });
    const replies = [{ calls: [call('stuck'), call('stuck')] }, { text: 'Going on.' }];
    const options = { limits: { parallel: 1 }, drainTimeoutMs: 10 };
    await using session = await open(replies, [stuck.definition], options);
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'tool.started') turn.interrupt('enough');
    same([(await turn.result).status, stuck.count], ['interrupted', 1]);
    assertPaired(session.history);
    same((await session.run('Go on.')).text, 'Going on.');
  }),

  check('a running tool hears of an interrupt by its signal, with its reason', async () => {
    const heard: unknown[] = [];
    const wait = scriptedTool('wait', (_, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => {
        heard.push(signal.reason instanceof Error ? signal.reason.message : signal.reason);
        reject(signal.reason);
      });
      return promise;
    });
    await using session = await open([{ calls: [call('wait')] }], [wait.definition]);
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'tool.started') turn.interrupt('it is late');
    same([heard.length, String(heard[0]).includes('it is late')], [1, true]);
  }),

  check('a word to a running turn goes in before its next request, and the next input waits', async () => {
    const model = scriptedModel([{ calls: [call('look')] }, { text: 'First.' }, { text: 'Second.' }]);
    const look = scriptedTool('look', { sleepMs: 10 });
    const loop = defineLoop({ name: 'l', model, tools: [look.definition] });
    await using session = await defineRig({ loops: [loop] }).open();
    const turn = session.submit('Go.');
    const next = session.submit('And then?');
    for await (const event of turn) if (event.type === 'tool.started') await session.steer('Only the door.');
    same([(await turn.result).text, (await next.result).text], ['First.', 'Second.']);
    holds(JSON.stringify(model.requests[1]?.prompt.at(-1)), 'Only the door.');
  }),

  check('a request that fails in passing is made again', async () => {
    const clock = manualClock();
    const overloaded = Object.assign(new Error('overloaded'), { isRetryable: true });
    const model = scriptedModel([
      { error: overloaded },
      { text: 'A text that breaks', deltas: 4, errorAfter: 3 },
      { text: 'Whole.' },
    ]);
    await using session = await defineRig({ loops: [defineLoop({ name: 'l', model, tools: [] })], clock }).open();
    same([(await clock.runUntil(session.run('Go.'))).text, model.count], ['Whole.', 3]);
  }),

  check('a request that fails for good fails the turn with a ModelError', async () => {
    const refused = Object.assign(new Error('no such key'), { isRetryable: false, statusCode: 401 });
    await using session = await open([{ error: refused }], []);
    const result = await session.submit('Go.').result;
    same([result.status, result.status === 'failed' && ModelError.is(result.error)], ['failed', true]);
  }),

  check('an answer by a schema is typed', async () => {
    const replies = [{ calls: [call('add', { a: 1, b: 1 })] }, { text: '{"n":2}' }];
    const options = { output: z.object({ n: z.number() }), outputMode: 'native' as const };
    await using session = await open(replies, [add], options);
    same((await session.run('1 and 1?')).output, { n: 2 });
  }),

  check('a mode has its own tools and instructions', async () => {
    const model = scriptedModel([{ text: 'A plan.' }, { text: 'Built.' }]);
    const build = { tools: [add, scriptedTool('build').definition] };
    const modes = { plan: { instructions: 'Plan.' }, build };
    const loop = defineLoop({ name: 'l', model, tools: [add], modes, initialMode: 'plan' });
    await using session = await defineRig({ loops: [loop] }).open();
    await session.run('Go.');
    await session.setMode('build');
    await session.run('Go.');
    same(
      model.requests.map(({ tools }) => tools?.length ?? 0),
      [1, 2],
    );
    holds(JSON.stringify(model.requests[0]?.prompt[0]), 'Plan.');
  }),

  check('a delegate works in a session of its own, and its answer is the result of its call', async () => {
    const helper = defineLoop({
      name: 'helper',
      model: scriptedModel([{ calls: [call('add', { a: 1, b: 2 })] }, { text: 'Three.' }]),
      tools: [add],
    });
    const tools = [delegate(helper, { description: 'Reckons.' })];
    const lead = defineLoop({
      name: 'lead',
      model: scriptedModel([{ calls: [call('helper', { task: '1 and 2' })] }, { text: 'It is three.' }]),
      tools,
    });
    const rig = defineRig({ loops: [lead] });
    await using session = await rig.open();
    same((await session.run('1 and 2?')).text, 'It is three.');
    holds(resultsIn(session.history)[0], 'Three.');
    same([(await rig.sessions()).length, (await rig.sessions({ delegates: true })).length], [1, 2]);
  }),

  check('a result that is too long is cut between characters, and can be read on', async () => {
    const long = scriptedTool('long', '€'.repeat(20_000));
    const model = scriptedModel([
      { calls: [call('long')] },
      ({ prompt }) => {
        const [, id] = /read_tool_result \{\\?"id\\?":\\?"([0-9a-f]+)/.exec(JSON.stringify(prompt.at(-1))) ?? [];
        return { calls: [call('read_tool_result', { id, offset: 30_000, bytes: 300 })] };
      },
      { text: '.' },
    ]);
    const loop = defineLoop({ name: 'l', model, tools: [long.definition], limits: { resultBytes: 1_000 } });
    await using session = await defineRig({ loops: [loop] }).open();
    await session.run('Go.');
    const [cut, rest] = resultsIn(session.history);
    same([new TextEncoder().encode(cut).length <= 1_000, cut?.includes('\uFFFD')], [true, false]);
    holds(cut, 'of 60000 bytes left out here');
    holds(rest, `${'€'.repeat(50)}`);
  }),

  check('a middleware goes round each call', async () => {
    let failures = 2;
    const flaky = scriptedTool('flaky', {
      idempotent: true,
      returns: () => {
        if (failures-- > 0) throw new Error('not yet');
        return 'at last';
      },
    });
    const clock = manualClock();
    const model = scriptedModel([{ calls: [call('flaky')] }, { text: '.' }]);
    const loop = defineLoop({
      name: 'l',
      model,
      tools: [flaky.definition],
      middlewares: [retry({ tools: 'all', times: 3, clock })],
    });
    await using session = await defineRig({ loops: [loop], clock }).open();
    await clock.runUntil(session.run('Go.'));
    same([resultsIn(session.history), flaky.count], [['at last'], 3]);
  }),
];
