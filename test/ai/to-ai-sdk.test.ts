/** Tools of a bound loop, run by AI SDK itself. */
import {
  convertToModelMessages,
  generateText,
  type ModelMessage,
  readUIMessageStream,
  stepCountIs,
  streamText,
  toUIMessageStream,
} from 'ai';
import {
  type BoundLoop,
  DefinitionError,
  defineLoop,
  defineTool,
  type LoopOptions,
  type ToolDefinition,
  type ToolMiddleware,
  toolError,
  toolResult,
} from 'looprig';
import { toAISDK } from 'looprig/ai';
import { redact } from 'looprig/middleware';
import { manualClock, type ScriptedCall, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const input = z.object({ n: z.coerce.number() });

function bind(tools: readonly ToolDefinition[], options: Partial<LoopOptions> = {}): Promise<BoundLoop> {
  const loop = defineLoop({ name: 'agent', model: scriptedModel([]), tools, ...options } as LoopOptions);
  return loop.bind({ sessionId: 's', loopId: 'l' });
}

type Tools = ReturnType<typeof toAISDK>;

/** One batch of calls by `generateText`, and what the model was told of each: its outputs, in the order of the message. */
async function told(tools: Tools, calls: readonly ScriptedCall[]): Promise<unknown[]> {
  const model = scriptedModel([{ calls }, { text: 'ok' }]);
  const { text } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
  expect(text).toBe('ok');
  const content = model.requests[1]?.prompt.at(-1)?.content;
  if (content === undefined || typeof content === 'string') throw new Error('there is no tool message');
  return content.map(part => (part.type === 'tool-result' ? JSON.parse(JSON.stringify(part.output)) : part));
}

const one = async (tools: Tools, args: unknown, name = 'it'): Promise<unknown> =>
  (await told(tools, [{ tool: name, input: args }]))[0];

describe('toAISDK', () => {
  it('gives streamText tools that are told, checked and run as in a loop', async () => {
    const it = defineTool({
      name: 'it',
      description: 'Doubles.',
      input,
      execute: ({ n }, call) => ({ n: 2 * n, id: call.callId }),
    });
    await using bound = await bind([it]);
    const model = scriptedModel([
      {
        text: 'I double.',
        calls: [
          { tool: 'it', input: { n: '4' } },
          { tool: 'it', input: { n: 'x' } },
        ],
      },
      { text: 'Eight.' },
    ]);
    const result = streamText({ model, tools: toAISDK(bound), prompt: 'go', stopWhen: stepCountIs(3) });
    let last: unknown[] = [];
    for await (const message of readUIMessageStream({ stream: toUIMessageStream({ stream: result.stream }) }))
      last = message.parts;
    expect(last).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I double.' },
      { type: 'tool-it', state: 'output-available', input: { n: 4 }, output: { n: 8, id: 'call-0-0' } },
      { type: 'tool-it', state: 'output-error', errorText: expect.stringMatching(/n: .*number/i) },
      { type: 'step-start' },
      { type: 'text', text: 'Eight.' },
    ]);
    expect(model.requests[0]?.tools).toMatchObject([
      { name: 'it', description: 'Doubles.', inputSchema: { type: 'object', properties: { n: {} } } },
    ]);
  });

  it('tells the model results of every kind as a turn does', async () => {
    const returns: Record<string, unknown> = {
      text: 'words',
      json: { a: [1] },
      parts: toolResult([
        { type: 'text', text: 'seen' },
        { type: 'image', data: 'AAAA', mediaType: 'image/png' },
      ]),
      error: toolError('it is closed'),
      nothing: undefined,
      long: 'x'.repeat(5_000),
    };
    const tools = Object.entries(returns).map(([name, returned]) =>
      defineTool({ name, description: 'Gives.', input: z.object({}), execute: () => returned as string }),
    );
    await using bound = await bind(tools, { limits: { resultBytes: 1_024 } });
    const outputs = await told(
      toAISDK(bound),
      Object.keys(returns).map(name => ({ tool: name, input: {} })),
    );
    expect(outputs.slice(0, 5)).toEqual([
      { type: 'text', value: 'words' },
      { type: 'json', value: { a: [1] } },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'seen' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        ],
      },
      { type: 'error-text', value: 'it is closed' },
      { type: 'error-text', value: 'empty result' },
    ]);
    const { value } = outputs[5] as { value: string };
    expect(new TextEncoder().encode(value).length).toBeLessThanOrEqual(1_024);
  });

  it('runs the middlewares of the loop', async () => {
    const it = defineTool({ name: 'it', description: 'Tells.', input, execute: () => 'the key is sk-123' });
    const counted: string[] = [];
    await using bound = await bind([it], {
      middlewares: [
        redact({ patterns: [/sk-\d+/g] }),
        async (call, next) => {
          counted.push(`${call.toolName} ${call.callId} ${JSON.stringify(call.input)}`);
          return next({ n: 2 });
        },
      ],
    });
    const output = (await one(toAISDK(bound), { n: 1 })) as { value: string };
    expect(output.value).not.toContain('sk-123');
    expect(counted).toEqual(['it call-0-0 {"n":1}']);
  });

  it('tells what a tool throws, without its stack', async () => {
    const it = scriptedTool('it', { throws: new Error('no luck') });
    await using bound = await bind([it.definition]);
    expect(await one(toAISDK(bound), {})).toEqual({ type: 'error-text', value: 'no luck' });
  });

  it('tells who asks how far a tool is', async () => {
    const it = defineTool({
      name: 'it',
      description: 'Goes.',
      input,
      execute(_, call) {
        call.progress({ half: true });
        return 'gone';
      },
    });
    await using bound = await bind([it]);
    const seen: unknown[] = [];
    await one(toAISDK(bound, { onProgress: (update, call) => seen.push([update, call]) }), { n: 1 });
    expect(seen).toEqual([[{ half: true }, { toolName: 'it', toolCallId: 'call-0-0' }]]);
  });

  it('ends a call whose time is over, and one that AI SDK aborts', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { hangs: true, timeoutMs: 50 });
    await using bound = await bind([slow.definition]);
    const timed = one(toAISDK(bound, { clock }), {}, 'slow');
    await clock.runUntil(timed);
    expect(await timed).toEqual({
      type: 'error-text',
      value: 'timed out after 50 ms: it may still be running, and may or may not have taken effect',
    });
    expect(slow.runs[0]?.aborted).toBe(true);

    const controller = new AbortController();
    const { execute } = toAISDK(bound, { clock }).slow!;
    const options = { toolCallId: 'c', messages: [], abortSignal: controller.signal, context: {} };
    const running = Promise.resolve(execute?.({}, options));
    await clock.advance(1);
    controller.abort(new Error('left'));
    await expect(running).rejects.toThrow('interrupted; it may or may not have taken effect');
    expect(slow.runs[1]?.aborted).toBe(true);
    await expect(execute?.({}, options)).rejects.toThrow('left');
    expect(slow.count).toBe(2);
  });

  it('says of a call that a middleware still held that its tool was not run, and does not run it later', async () => {
    const clock = manualClock();
    const it = scriptedTool('it', { timeoutMs: 50 });
    const late: ToolMiddleware = async (_, next) => {
      await new Promise<void>(resolve => clock.setTimer(resolve, 200));
      return next();
    };
    await using bound = await bind([it.definition], { middlewares: [late] });
    const told = one(toAISDK(bound, { clock }), {});
    await clock.runUntil(told);
    expect(await told).toEqual({
      type: 'error-text',
      value: 'timed out after 50 ms while a middleware held the call: the tool was not run',
    });
    await clock.advance(1_000);
    expect(it.count).toBe(0);
  });

  it('a tool whose abort listener throws ends no process', async () => {
    const clock = manualClock();
    const it = scriptedTool('it', {
      timeoutMs: 50,
      returns: (_, call) => {
        call.signal.addEventListener('abort', () => {
          throw new Error('no way to stop');
        });
        return new Promise(() => {});
      },
    });
    await using bound = await bind([it.definition]);
    const told = one(toAISDK(bound, { clock }), {});
    await clock.runUntil(told);
    expect(await told).toMatchObject({ value: expect.stringContaining('may or may not have taken effect') });
  });

  it('keeps calls apart that are sequential or work on one thing', async () => {
    const clock = manualClock();
    const writes = scriptedTool('writes', { sleepMs: 10, clock, resource: ({ key }) => String(key) });
    const alone = scriptedTool('alone', { sleepMs: 10, clock, sequential: true });
    const reads = scriptedTool('reads', { sleepMs: 10, clock, resource: () => ({ key: 'a', mode: 'read' }) });
    await using bound = await bind([writes.definition, alone.definition, reads.definition]);
    const calls = [
      { tool: 'writes', input: { key: 'a' }, id: 'w1' },
      { tool: 'writes', input: { key: 'a' }, id: 'w2' },
      { tool: 'writes', input: { key: 'b' }, id: 'w3' },
      { tool: 'reads', input: {}, id: 'r1' },
      { tool: 'reads', input: {}, id: 'r2' },
      { tool: 'alone', input: {}, id: 'x' },
    ];
    await clock.runUntil(told(toAISDK(bound, { clock }), calls));
    expect(writes.overlapped('w1', 'w2')).toBe(false);
    expect(writes.overlapped('w1', 'w3')).toBe(true);
    expect(reads.overlapped('r1', 'r2')).toBe(true);
    const started = [...writes.runs, ...reads.runs, ...alone.runs].map(run => [
      run.callId,
      run.startedAt - writes.runs[0]!.startedAt,
    ]);
    expect(Object.fromEntries(started)).toEqual({ w1: 0, w2: 10, w3: 0, r1: 20, r2: 20, x: 30 });
  });

  describe('permission', () => {
    const pay = scriptedTool('pay', { returns: 'paid', access: ({ sum }) => [{ action: 'pay', target: String(sum) }] });
    const rules = [
      { action: 'pay', target: '1*', decision: 'allow' },
      { action: 'pay', target: '666', decision: 'deny' },
    ] as const;

    it('asks for an approval where no rule allows the call, and runs it once it is given', async () => {
      await using bound = await bind([pay.definition], { gate: { rules } });
      const tools = toAISDK(bound);
      const before = pay.count;
      const model = scriptedModel([{ calls: [{ tool: 'pay', input: { sum: 20 } }] }, { text: 'Paid.' }]);
      const asked = await generateText({ model, tools, prompt: 'pay', stopWhen: stepCountIs(3) });
      const request = asked.content.find(part => part.type === 'tool-approval-request');
      expect(request).toMatchObject({ toolCall: { toolName: 'pay', input: { sum: 20 } } });
      expect(pay.count).toBe(before);
      const messages: ModelMessage[] = [
        { role: 'user', content: 'pay' },
        ...asked.response.messages,
        {
          role: 'tool',
          content: [{ type: 'tool-approval-response', approvalId: request?.approvalId ?? '', approved: true }],
        },
      ];
      const { text } = await generateText({ model, tools, messages, stopWhen: stepCountIs(3) });
      expect([text, pay.count]).toEqual(['Paid.', before + 1]);
    });

    it('runs what a rule allows, and never what one forbids', async () => {
      await using bound = await bind([pay.definition], { gate: { rules: rules.slice(0, 1) } });
      const tools = toAISDK(bound, { rules: rules.slice(1) });
      const before = pay.count;
      const outputs = await told(
        tools,
        [12, 666].map(sum => ({ tool: 'pay', input: { sum } })),
      );
      expect(outputs).toEqual([
        { type: 'text', value: 'paid' },
        { type: 'error-text', value: 'permission denied: a rule forbids pay on 666' },
      ]);
      expect(pay.count).toBe(before + 1);
    });

    it('asks for a tool that cannot say what it wants, and then does not run it', async () => {
      const odd = scriptedTool('odd', {
        access: () => {
          throw new Error('who knows');
        },
      });
      await using bound = await bind([odd.definition]);
      const { needsApproval, execute } = toAISDK(bound).odd!;
      const options = { toolCallId: 'c', messages: [], context: {} };
      expect(typeof needsApproval === 'function' && (await needsApproval({}, options))).toBe(true);
      await expect(execute?.({}, options)).rejects.toThrow('who knows');
      expect(odd.count).toBe(0);
    });
  });

  it('gives a result that came back from a page to the model as it was', async () => {
    const it = defineTool({
      name: 'it',
      description: 'Draws.',
      input: z.object({}),
      execute: () =>
        toolResult([
          { type: 'image', data: 'AAAA', mediaType: 'image/png' },
          { type: 'text', text: 'dot' },
        ]),
    });
    await using bound = await bind([it]);
    const tools = toAISDK(bound);
    const result = streamText({ model: scriptedModel([{ calls: [{ tool: 'it', input: {} }] }]), tools, prompt: 'go' });
    let text = '';
    for await (const message of readUIMessageStream({ stream: toUIMessageStream({ stream: result.stream }) }))
      text = JSON.stringify(message);
    const converted = await convertToModelMessages([JSON.parse(text)], { tools });
    expect(converted.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ output: { type: 'content', value: [{ type: 'file' }, { type: 'text', text: 'dot' }] } }],
    });
  });

  it('gives the tools of a mode, and refuses one that there is not', async () => {
    const [a, b] = [scriptedTool('a'), scriptedTool('b')];
    await using bound = await bind([a.definition], {
      modes: { more: { tools: [b.definition] } },
      initialMode: 'more',
    } as never);
    expect(Object.keys(toAISDK(bound))).toEqual(['b']);
    expect(Object.keys(toAISDK(bound, { mode: '' }))).toEqual(['a']);
    expect(() => toAISDK(bound, { mode: 'less' })).toThrow(DefinitionError);
    expect(() => toAISDK(bound, { mode: 'less' })).toThrow('loop "agent" has no mode "less": it has "", "more"');
    expect(() => toAISDK(defineLoop({ name: 'l', model: scriptedModel([]) }) as never)).toThrow(
      '"bound" must be a bound loop',
    );
    expect(() => toAISDK(bound, { rules: [{ action: 'pay' } as never] })).toThrow('rules[0].decision must be');
  });
});
