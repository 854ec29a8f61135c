import { describe, expect, test } from 'vitest';
import { BUILD, type LiveTool, type ToolCall, type ToolReturn, toolError } from '../define/tool.ts';
import { DefinitionError } from '../errors.ts';
import { manualClock } from './manual-clock.ts';
import { type ScriptedTool, scriptedTool } from './scripted-tool.ts';

/** What the loop does with a definition, as far as these tests need it. */
async function build({ definition }: ScriptedTool): Promise<LiveTool<Record<string, unknown>>> {
  return (await definition[BUILD]({ sessionId: 's', loopId: 'l' } as never)) as LiveTool<Record<string, unknown>>;
}

async function run(
  tool: ScriptedTool,
  callId: string,
  { input = {}, signal = new AbortController().signal }: { input?: Record<string, unknown>; signal?: AbortSignal } = {},
): Promise<ToolReturn> {
  const call: ToolCall = {
    callId,
    toolName: tool.definition.name,
    sessionId: 's',
    loopId: 'l',
    turnId: 't',
    stepId: 'st',
    signal,
    budget: { iterationsLeft: 1, callsLeft: 1, tokensLeft: 1 },
    progress: () => {},
  };
  return (await build(tool)).execute(input, call);
}

describe('what it does', () => {
  test('says ok where nothing is said', async () => {
    expect(await run(scriptedTool('ping'), 'a')).toBe('ok');
  });

  test.each([['text'], [42], [null], [['a', 'b']], [toolError('no')]])('returns the value %j', async value => {
    expect(await run(scriptedTool('value', value), 'a')).toBe(value);
  });

  test('returns what a function of input and call gives', async () => {
    const tool = scriptedTool('echo', ({ word }, { callId }) => ({ word, callId }));
    expect(await run(tool, 'a', { input: { word: 'hi' } })).toEqual({ word: 'hi', callId: 'a' });
  });

  test('returns an object under "returns", and takes any other object for options', async () => {
    expect(await run(scriptedTool('object', { returns: { sleepMs: 1 } }), 'a')).toEqual({ sleepMs: 1 });
    expect(() => scriptedTool('object', { city: 'Bern' })).toThrow('no option "city"');
  });

  test('throws what it is told to, as it is', async () => {
    await expect(run(scriptedTool('bad', { throws: 'just text' }), 'a')).rejects.toBe('just text');
    await expect(run(scriptedTool('worse', { throws: undefined }), 'a')).rejects.toBe(undefined);
  });

  test('sleeps on its clock, for as long as the input says', async () => {
    const clock = manualClock();
    const tool = scriptedTool('nap', { sleepMs: ({ ms }) => Number(ms), clock, returns: 'woke' });
    const running = run(tool, 'a', { input: { ms: 50 } });
    await clock.advance(49);
    expect(tool.runs[0]?.endedAt).toBeUndefined();
    await clock.advance(1);
    expect(await running).toBe('woke');
    expect(tool.runs[0]).toMatchObject({ startedAt: 0, endedAt: 50, aborted: false });
  });

  test('stops sleeping with the reason of its signal, and leaves no timer behind', async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const tool = scriptedTool('nap', { sleepMs: 50, clock });
    const running = run(tool, 'a', { signal: controller.signal });
    await clock.advance(10);
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(tool.runs[0]).toMatchObject({ endedAt: 10, aborted: true });
    expect(clock.pending).toBe(0);
  });

  test('sleeps on when it is deaf', async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const tool = scriptedTool('nap', { sleepMs: 50, clock, deaf: true });
    const running = run(tool, 'a', { signal: controller.signal });
    controller.abort('enough');
    await clock.advance(50);
    expect(await running).toBe('ok');
    expect(tool.runs[0]).toMatchObject({ endedAt: 50, aborted: true });
  });

  test('hangs whatever its signal says', async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const tool = scriptedTool('stuck', { hangs: true });
    let settled = false;
    const end = (): void => {
      settled = true;
    };
    run(tool, 'a', { signal: controller.signal }).then(end, end);
    controller.abort('enough');
    await clock.advance(1_000);
    expect(settled).toBe(false);
    expect(tool.runs[0]).toMatchObject({ callId: 'a', aborted: true });
  });
});

test('capabilities are those of the live tool', async () => {
  const capabilities = { sequential: true, idempotent: true, timeoutMs: 5, resource: () => 'key', summary: () => 'hm' };
  expect(await build(scriptedTool('able', { ...capabilities, access: () => [] }))).toMatchObject(capabilities);
});

test('a name that no model may call is refused as for any tool', () => {
  expect(() => scriptedTool('not a name')).toThrow(DefinitionError);
});

describe('what it remembers', () => {
  test('counts runs, and the most at one time', async () => {
    const clock = manualClock();
    const tool = scriptedTool('nap', { sleepMs: ({ ms }) => Number(ms), clock });
    const running = [30, 10, 10].map((ms, index) => run(tool, `call-${index}`, { input: { ms } }));
    await clock.advance(10);
    running.push(run(tool, 'call-3', { input: { ms: 1 } }));
    await clock.runUntil(Promise.all(running));
    expect(tool.count).toBe(4);
    expect(tool.peak).toBe(3);
    expect(tool.runs.map(({ callId }) => callId)).toEqual(['call-0', 'call-1', 'call-2', 'call-3']);
  });

  test('tells who ran beside whom, also where the clock stands still', async () => {
    const clock = manualClock();
    const tool = scriptedTool('nap', { sleepMs: 10, clock });
    const both = [run(tool, 'a'), run(tool, 'b')];
    await clock.runUntil(Promise.all(both));
    await clock.runUntil(run(tool, 'c'));
    const instant = scriptedTool('instant');
    await run(instant, 'd');
    await run(instant, 'e');
    expect([tool.overlapped('a', 'b'), tool.overlapped('b', 'c'), instant.overlapped('d', 'e')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(() => tool.overlapped('a', 'x')).toThrow('"x" was never run');
  });

  test('a run that has not ended overlaps all that start after it', async () => {
    const tool = scriptedTool('some', { hangs: true });
    run(tool, 'a').catch(() => {});
    run(tool, 'b').catch(() => {});
    await Promise.resolve();
    await Promise.resolve();
    expect(tool.overlapped('a', 'b')).toBe(true);
  });
});
