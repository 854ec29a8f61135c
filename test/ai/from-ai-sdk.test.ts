/** Tools written for AI SDK, run in a loop. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { dynamicTool, jsonSchema, type Tool, type ToolSet, tool } from 'ai';
import { type } from 'arktype';
import {
  DefinitionError,
  defineLoop,
  defineRig,
  type GateOptions,
  memoryStore,
  type ToolDefinition,
  type ToolResultOutput,
  type TurnEvent,
} from 'looprig';
import { fromAISDK } from 'looprig/ai';
import { collect, type ScriptedCall, scriptedModel } from 'looprig/testing';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

/** Runs one batch of calls, and gives what the model was told of each. */
async function told(
  definitions: readonly ToolDefinition[],
  calls: readonly ScriptedCall[],
  gate: GateOptions = { rules: [{ action: '*', decision: 'allow' }] },
): Promise<{ outputs: ToolResultOutput[]; progress: unknown[] }> {
  const model = scriptedModel([{ calls }, { text: 'ok' }]);
  const loop = defineLoop({ name: 'agent', model, tools: definitions });
  await using session = await defineRig({ loops: [loop], store: memoryStore(), gate }).open();
  const { events } = await collect(session.submit('go'));
  const results = new Map(
    events.flatMap(event => (event.type === 'tool.completed' ? [[event.callId, event.output]] : [])),
  );
  return {
    outputs: calls.map((_, index) => results.get(`call-0-${index}`)!),
    progress: events.flatMap(event => (event.type === 'tool.progress' ? [event.update] : [])),
  };
}

const one = async (definitions: readonly ToolDefinition[], input: unknown, name = 'it'): Promise<ToolResultOutput> =>
  (await told(definitions, [{ tool: name, input }])).outputs[0]!;

describe('fromAISDK', () => {
  it('runs a tool with its input typed and checked, and the call told to it', async () => {
    const seen: unknown[] = [];
    const weather = tool({
      description: 'Tells the weather.',
      inputSchema: z.object({ city: z.string(), days: z.coerce.number().default(1) }),
      execute: async ({ city, days }, { toolCallId, abortSignal, messages }) => {
        seen.push([toolCallId, abortSignal instanceof AbortSignal, messages]);
        return { city, days };
      },
    });
    const { outputs } = await told(fromAISDK({ weather }), [
      { tool: 'weather', input: { city: 'Rome', days: '3' } },
      { tool: 'weather', input: { city: 7 } },
    ]);
    expect(outputs[0]).toEqual({ type: 'json', value: { city: 'Rome', days: 3 } });
    expect(outputs[1]).toMatchObject({ type: 'error-text', value: expect.stringContaining('city: ') });
    expect(seen).toEqual([['call-0-0', true, []]]);
  });

  it('gives one definition a tool, in the order of the record, frozen', () => {
    const text = { inputSchema: z.object({}), execute: () => 'x', description: 'Says x.' };
    const definitions = fromAISDK({ b: tool(text), a: dynamicTool(text) });
    expect(definitions.map(({ name, produces }) => [name, produces])).toEqual([
      ['b', ['b']],
      ['a', ['a']],
    ]);
    expect(Object.isFrozen(definitions)).toBe(true);
    expect(fromAISDK({})).toEqual([]);
  });

  const value = { n: 1 };
  const plain = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
  it.each<[string, unknown]>([
    ['zod', z.object({ n: z.number() })],
    ['valibot', toStandardJsonSchema(v.object({ n: v.number() }))],
    ['arktype', type({ n: 'number' })],
    ['jsonSchema()', jsonSchema(plain)],
    ['jsonSchema() of a promise', jsonSchema(Promise.resolve(plain))],
    ['jsonSchema() with a check of its own', jsonSchema(plain, { validate: onlyNumbers })],
    ['a schema that is made when it is needed', () => jsonSchema(plain)],
  ])('takes a schema of %s, tells it to the model and checks by it', async (_, inputSchema) => {
    const it = { description: 'It.', inputSchema, execute: (input: unknown) => input } as Tool;
    const definitions = fromAISDK({ it });
    const { outputs } = await told(definitions, [
      { tool: 'it', input: value },
      { tool: 'it', input: { n: 'x' } },
    ]);
    expect(outputs[0]).toEqual({ type: 'json', value });
    expect(outputs[1]).toMatchObject({ type: 'error-text', value: expect.stringMatching(/do not fit the schema.*n/) });
    await using bound = await defineLoop({ name: 'l', model: scriptedModel([]), tools: definitions }).bind({
      sessionId: 's',
      loopId: 'l',
    });
    expect(bound.tools[0]?.info.inputSchema).toMatchObject({ type: 'object', properties: { n: { type: 'number' } } });
  });

  function onlyNumbers(given: unknown) {
    const isFit = typeof given === 'object' && given !== null && 'n' in given && typeof given.n === 'number';
    return isFit
      ? { success: true as const, value: given }
      : { success: false as const, error: new Error('n is no number') };
  }

  it('takes each value that a generator yields as progress, and the last one as the result', async () => {
    const it = tool({
      description: 'Counts.',
      inputSchema: z.object({ to: z.number() }),
      async *execute({ to }) {
        for (let n = 1; n <= to; n++) yield { n };
      },
    });
    const { outputs, progress } = await told(fromAISDK({ it }), [{ tool: 'it', input: { to: 3 } }]);
    expect(progress).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(outputs[0]).toEqual({ type: 'json', value: { n: 3 } });
  });

  it('ends a generator whose call is interrupted', async () => {
    let ended = '';
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const it = tool({
      description: 'Goes on.',
      inputSchema: z.object({}),
      async *execute() {
        try {
          started.resolve();
          await goOn.promise;
          yield 1;
          yield 2;
          ended = 'at its end';
        } finally {
          ended ||= 'stopped';
        }
      },
    });
    const loop = defineLoop({
      name: 'agent',
      model: scriptedModel([{ calls: [{ tool: 'it', input: {} }] }]),
      tools: fromAISDK({ it }),
    });
    await using session = await defineRig({ loops: [loop] }).open();
    const turn = session.submit('go');
    await started.promise;
    turn.interrupt();
    goOn.resolve();
    expect((await turn.result).status).toBe('interrupted');
    expect(ended).toBe('stopped');
  });

  it('tells the model what toModelOutput says', async () => {
    const say = (output: Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>): ToolSet => ({
      it: tool({
        description: 'Says.',
        inputSchema: z.object({ a: z.number() }),
        execute: () => 'raw',
        toModelOutput: ({ input, output: raw, toolCallId }) => {
          expect([input, raw, toolCallId]).toEqual([{ a: 1 }, 'raw', 'call-0-0']);
          return output;
        },
      }),
    });
    const said = (output: Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>) =>
      one(fromAISDK(say(output)), { a: 1 });
    expect(await said({ type: 'text', value: 'short' })).toEqual({ type: 'text', value: 'short' });
    expect(await said({ type: 'json', value: [1] })).toEqual({ type: 'json', value: [1] });
    expect(await said({ type: 'error-text', value: 'no' })).toEqual({ type: 'error-text', value: 'no' });
    expect(await said({ type: 'error-json', value: { no: 1 } })).toEqual({ type: 'error-json', value: { no: 1 } });
    expect(await said({ type: 'execution-denied', reason: 'late' })).toEqual({
      type: 'error-text',
      value: 'not run: late',
    });
    const parts = await said({
      type: 'content',
      value: [
        { type: 'text', text: 'a' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([0, 0, 0]) } },
        { type: 'file', mediaType: 'text/csv', filename: 'a.csv', data: { type: 'data', data: 'YSxi' } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inline' } },
        { type: 'image-data', mediaType: 'image/png', data: 'AAAA' },
        { type: 'file-data', mediaType: 'text/csv', data: 'YSxi' },
      ],
    });
    expect(parts.type === 'content' && parts.value.map(part => (part.type === 'text' ? part.text : part.type))).toEqual(
      ['a', 'file', 'file', 'inline', 'file', 'file'],
    );
    const url = { type: 'url', url: new URL('https://example.com/a.png') } as const;
    expect(await said({ type: 'content', value: [{ type: 'file', mediaType: 'image/png', data: url }] })).toMatchObject(
      {
        type: 'error-text',
        value: 'its toModelOutput gave a file by url, which a result here cannot hold: give its data instead',
      },
    );
    expect(await said({ type: 'content', value: [{ type: 'file-id', fileId: 'f' }] })).toMatchObject({
      value: expect.stringContaining('a part of type "file-id"'),
    });
    expect(await said({ type: 'odd', value: 1 } as never)).toMatchObject({
      value: expect.stringContaining('the unknown type "odd"'),
    });
  });

  it('makes a thrown error the result of its call', async () => {
    const it = tool({
      description: 'Fails.',
      inputSchema: z.object({}),
      execute: (): string => {
        throw new Error('no luck');
      },
    });
    expect(await one(fromAISDK({ it }), {})).toEqual({ type: 'error-text', value: 'no luck' });
  });

  it('hands a tool its context, and refuses one that does not fit', async () => {
    const who = tool({
      description: 'Says who.',
      inputSchema: z.object({}),
      contextSchema: z.object({ user: z.string() }),
      execute: (_, { context }) => context.user,
    });
    expect(await one(fromAISDK({ who }, { toolsContext: { who: { user: 'Ada' } } }), {}, 'who')).toEqual({
      type: 'text',
      value: 'Ada',
    });
    expect(await one(fromAISDK({ who }), {}, 'who')).toEqual({
      type: 'error-text',
      value: '"toolsContext" of tool "who" does not fit its contextSchema',
    });
    const description = ({ context }: { context: { user: string } }): string => `For ${context.user}.`;
    const lazy = { ...who, description } as unknown as Tool;
    const [definition] = fromAISDK({ lazy }, { toolsContext: { lazy: { user: 'Ada' } } });
    await using bound = await defineLoop({ name: 'l', model: scriptedModel([]), tools: [definition!] }).bind({
      sessionId: 's',
      loopId: 'l',
    });
    expect(bound.tools[0]?.info.description).toBe('For Ada.');
  });

  describe('needsApproval', () => {
    const pay = tool({
      description: 'Pays.',
      inputSchema: z.object({ sum: z.number() }),
      needsApproval: async ({ sum }) => sum > 100,
      execute: ({ sum }) => `paid ${sum}`,
    });
    const calls = [5, 500].map(sum => ({ tool: 'pay', input: { sum } }));

    it('is an access request, which rules and people decide about', async () => {
      const denied = { type: 'error-text', value: expect.stringContaining('permission denied') };
      const { outputs } = await told(fromAISDK({ pay }), calls, { rules: [] });
      expect(outputs).toEqual([{ type: 'text', value: 'paid 5' }, denied]);
      const allowed = await told(fromAISDK({ pay }), calls, { rules: [{ action: 'tool.pay', decision: 'allow' }] });
      expect(allowed.outputs[1]).toEqual({ type: 'text', value: 'paid 500' });
      const always = fromAISDK({ pay: { ...pay, needsApproval: true } });
      expect((await told(always, calls, { rules: [] })).outputs).toEqual([denied, denied]);
      const never = fromAISDK({ pay: { ...pay, needsApproval: false } });
      expect((await told(never, calls, { rules: [] })).outputs[1]).toEqual({ type: 'text', value: 'paid 500' });
    });

    it('shows the arguments, so that an approval for always is one for them', async () => {
      const loop = defineLoop({
        name: 'agent',
        model: scriptedModel([{ calls: [...calls, calls[1]!, { tool: 'pay', input: { sum: 501 } }] }, { text: 'ok' }]),
        tools: fromAISDK({ pay }),
      });
      await using session = await defineRig({ loops: [loop], gate: { ask: true } }).open();
      const targets: string[] = [];
      const turn = session.submit('go');
      const events: TurnEvent[] = [];
      for await (const event of turn) {
        events.push(event);
        if (event.type !== 'gate.opened') continue;
        targets.push(`${event.requests[0]?.action} ${event.requests[0]?.target}`);
        if (targets.length < 3) continue;
        await session.answer(session.gates[0]!.gateId, { decision: 'approveAlways' });
        await session.answer(session.gates[0]!.gateId, { decision: 'deny' });
      }
      expect(targets).toEqual(['tool.pay {"sum":500}', 'tool.pay {"sum":500}', 'tool.pay {"sum":501}']);
      const outcomes = events.flatMap(event =>
        event.type === 'tool.completed' ? [[event.callId, event.outcome]] : [],
      );
      expect(Object.fromEntries(outcomes)).toEqual({
        'call-0-0': 'done',
        'call-0-1': 'done',
        'call-0-2': 'done',
        'call-0-3': 'denied',
      });
    });

    it('is not lost where more is said about the tool', async () => {
      const capabilities = {
        pay: { access: ({ sum }: { sum: number }) => (sum === 500 ? [{ action: 'bank', target: 'out' }] : []) },
      };
      const over = fromAISDK({ pay }, { capabilities });
      const rules = { rules: [{ action: 'bank', decision: 'allow' as const }] };
      const { outputs } = await told(over, [...calls, { tool: 'pay', input: { sum: 600 } }], rules);
      expect(outputs.map(({ type }) => type)).toEqual(['text', 'text', 'error-text']);
    });
  });

  it.each<[string, unknown, string]>([
    [
      'a name that providers refuse',
      { 'a b': tool({ description: 'x', inputSchema: z.object({}), execute: () => 1 }) },
      '"a b" is a name that model providers refuse',
    ],
    [
      'a tool of a provider',
      { search: { type: 'provider', id: 'openai.web_search', args: {}, isProviderExecuted: true } },
      'tool "search" is defined by a model provider (openai.web_search)',
    ],
    [
      'a tool that a page runs',
      { ask: tool({ description: 'x', inputSchema: z.object({}), outputSchema: z.string() }) },
      'tool "ask" has no "execute": give it one; a turn runs its tools on the server',
    ],
    [
      'a tool without a description',
      { mute: tool({ inputSchema: z.object({}), execute: () => 1 }) },
      '"description" of tool "mute" must say what the tool does',
    ],
    [
      'a callback that nobody calls',
      { it: tool({ description: 'x', inputSchema: z.object({}), execute: () => 1, onInputStart: () => {} }) },
      'tool "it" has "onInputStart", which a loop never calls',
    ],
    [
      'a schema that is no object',
      { it: tool({ description: 'x', inputSchema: z.string(), execute: () => 1 }) },
      'the root must have the type "object"',
    ],
    [
      'a schema that gives no JSON Schema',
      { it: { description: 'x', inputSchema: v.object({}), execute: () => 1 } },
      '"inputSchema" of tool "it" cannot be used: Standard schema vendor',
    ],
    ['what is no tool', { it: null }, 'tool "it" must be made by tool() or dynamicTool() of AI SDK'],
    ['what is no record', [], '"tools" must be a record of AI SDK tools'],
  ])('refuses %s, and says so', (_, tools, message) => {
    const attempt = () => fromAISDK(tools as ToolSet);
    expect(attempt).toThrow(DefinitionError);
    expect(attempt).toThrow(message);
  });

  it('refuses options for a tool that is not there', () => {
    const it = tool({ description: 'x', inputSchema: z.object({}), execute: () => 1 });
    expect(() => fromAISDK({ it } as ToolSet, { capabilities: { ti: { idempotent: true } } })).toThrow(
      '"capabilities" names the tool "ti", but there is none: there is it',
    );
  });

  it('refuses an option that there is not', () => {
    expect(() => fromAISDK({}, { context: {} } as never)).toThrow(
      'fromAISDK has no option "context": it takes toolsContext, capabilities',
    );
  });

  it('tells a JSON Schema that cannot be had when the tool is bound', async () => {
    const inputSchema = jsonSchema(Promise.reject(new Error('no schema today')));
    const [definition] = fromAISDK({ it: { description: 'x', inputSchema, execute: () => 1 } as Tool });
    const binding = defineLoop({ name: 'l', model: scriptedModel([]), tools: [definition!] }).bind({
      sessionId: 's',
      loopId: 'l',
    });
    await expect(binding).rejects.toThrow('no schema today');
  });
});
