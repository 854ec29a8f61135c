import type { TurnEvent } from 'looprig';
import { manualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { doneResult, turnEvents, usage } from '../../test/cli/turn-events.ts';
import { PlainView } from './plain-view.ts';
import { SecretFilter } from './secrets.ts';

const HEADER = { model: 'demo', workspace: '/folder', mode: '', prompt: 'what is\nthis?', tries: 3 };
const FINISHED = { finishReason: { unified: 'stop' as const, raw: undefined }, usage: usage(12) };

/** Everything that is written, in its order: `1` for standard output, `2` for standard error. */
function show(streamsText: boolean, act: (view: PlainView, event: ReturnType<typeof turnEvents>) => void): string[] {
  const written: string[] = [];
  const output = {
    answer: (text: string) => written.push(`1 ${text}`),
    progress: (text: string) => written.push(`2 ${text}`),
  };
  const view = new PlainView({
    ...{ output, streamsText, hideReasoning: false, showsResults: false },
    ...{ secrets: new SecretFilter({}), clock: manualClock() },
  });
  act(
    view,
    turnEvents(() => 0),
  );
  return written;
}

/** A turn that says something, calls a tool that fails, and answers. */
function turn(event: ReturnType<typeof turnEvents>): TurnEvent[] {
  const call = { callId: 'a', toolName: 'read_file' };
  const output = { type: 'error-text' as const, value: 'there is no file\nnope.md' };
  return [
    event('turn.started', { input: [], mode: '', limits: { iterations: 25, calls: 100, parallel: 8 } }),
    event('step.started', { step: 1 }),
    event('text.delta', { text: 'I look ' }),
    event('text.delta', { text: 'first.' }),
    event('tool.called', { ...call, input: { path: 'nope.md' }, summary: 'read nope.md' }),
    event('tool.started', call),
    event('tool.completed', { ...call, outcome: 'failed', isError: true, output, durationMs: 7 }),
    event('step.done', { text: 'I look first.', ...FINISHED }),
    event('step.started', { step: 2 }),
    event('text.delta', { text: 'There is ' }),
    event('text.delta', { text: 'no such file.' }),
    event('step.done', { text: 'There is no such file.', ...FINISHED }),
  ];
}

const END = { result: doneResult('There is no such file.'), exitStatus: 0, word: 'done', reason: undefined };
const CALL_LINE = '2 ✗ read_file nope.md (7 ms, failed): there is no file nope.md\n';
const GAUGES_LINE =
  '2 done · steps 2 · iterations 1/25 · calls 1/100 · parallel peak 1/8 · 24 tokens: 24 in, 0 out · 0 ms\n';

describe('without a terminal', () => {
  it('standard output gets the answer alone, everything else is a line on standard error', () => {
    const written = show(false, (view, event) => {
      view.start(HEADER);
      for (const each of turn(event)) view.event(each);
      view.end(END);
    });
    expect(written).toEqual([
      '2 looprig · model: demo · folder: /folder\n',
      '2 prompt: what is this?\n',
      '2 I look first.\n',
      CALL_LINE,
      '1 There is no such file.\n',
      GAUGES_LINE,
    ]);
  });

  it('text that did not come in pieces is told all the same, before its calls or after them', () => {
    const written = show(false, (view, event) => {
      for (const each of turn(event)) if (each.type !== 'text.delta') view.event(each);
      view.end(END);
    });
    expect(written).toEqual([CALL_LINE, '2 I look first.\n', '1 There is no such file.\n', GAUGES_LINE]);
  });

  it('a turn that failed leaves standard output empty', () => {
    const written = show(false, (view, event) => {
      view.event(event('step.started', { step: 1 }));
      view.event(event('text.delta', { text: 'half an ans' }));
      const { status: _, finishReason: __, ...figures } = doneResult('half an ans');
      view.end({ ...END, result: { status: 'interrupted', leftBehind: [], ...figures }, word: 'interrupted' });
    });
    expect(written.filter(text => text.startsWith('1'))).toEqual([]);
  });

  it('what was said in a step without calls is told if another step follows, and is the answer else', () => {
    const written = show(false, (view, event) => {
      view.event(event('step.started', { step: 1 }));
      view.event(event('step.done', { text: 'One moment.', ...FINISHED }));
      view.event(event('step.started', { step: 2 }));
      view.event(event('step.done', { text: 'Here it is.', ...FINISHED }));
      view.end({ ...END, result: doneResult('Here it is.') });
    });
    expect(written.slice(0, -1)).toEqual(['2 One moment.\n', '1 Here it is.\n']);
  });

  it('a half answer is told, and is no answer', () => {
    const written = show(false, (view, event) => {
      view.event(event('step.started', { step: 1 }));
      view.event(event('text.delta', { text: 'Half an ans' }));
      const { status: _, finishReason: __, ...figures } = doneResult('Half an ans');
      view.end({ ...END, result: { status: 'interrupted', leftBehind: [], ...figures }, word: 'interrupted' });
    });
    expect(written[0]).toBe('2 not finished: Half an ans\n');
    expect(written).toHaveLength(2);
  });

  it('what the model thinks is told line by line, before what it says', () => {
    const written = show(false, (view, event) => {
      for (const text of ['Let me ', 'see.\n\nI th', 'ink so.']) view.event(event('reasoning.delta', { text }));
      view.event(event('text.delta', { text: 'Yes.' }));
    });
    expect(written).toEqual(['2 thinking: Let me see.\n', '2 thinking: I think so.\n']);
  });

  it('says of a failed attempt that it is dropped where something of it was shown', () => {
    const retrying = { attempt: 2, delayMs: 0, reason: 'overloaded' };
    const written = show(false, (view, event) => {
      view.start(HEADER);
      view.event(event('reasoning.delta', { text: 'Hm.' }));
      view.event(event('step.retrying', retrying));
      view.event(event('text.delta', { text: 'not shown here' }));
      view.event(event('step.retrying', retrying));
    });
    expect(written.slice(2)).toEqual([
      '2 thinking: Hm.\n',
      '2 the request failed (overloaded): trying again in 0 ms (2 of 3); what this step has said above is dropped\n',
      '2 the request failed (overloaded): trying again in 0 ms (2 of 3)\n',
    ]);
  });

  it('retries, near limits, late tools and notices are lines', () => {
    const written = show(false, (view, event) => {
      view.start(HEADER);
      view.event(event('step.retrying', { attempt: 2, delayMs: 1_500, reason: 'overloaded' }));
      view.event(event('limit.near', { limit: 'calls', used: 91, max: 100 }));
      view.event(event('tool.late', { callId: 'a', toolName: 'dig', isError: false }));
      view.notice('interrupting');
    });
    expect(written.slice(2)).toEqual([
      '2 the request failed (overloaded): trying again in 1.5 s (2 of 3)\n',
      '2 limit near: 91 of 100 calls used\n',
      '2 dig settled after it was answered for; what it gave is dropped\n',
      '2 interrupting\n',
    ]);
  });

  it('text from outside drives nothing', () => {
    const written = show(false, (view, event) => {
      view.start({ ...HEADER, prompt: 'hi\u001b[2J' });
      const call = { callId: 'a', toolName: 'x\u001b]0;t\u0007' };
      view.event(event('tool.called', { ...call, input: { a: '\u009b2J' }, summary: 'x\r\u001b[1A' }));
      const output = { type: 'error-text' as const, value: '\u001b[31mred\n' };
      view.event(event('tool.completed', { ...call, outcome: 'refused', isError: true, output, durationMs: 0 }));
      view.end({ ...END, result: doneResult('the \u001b[2Janswer') });
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(written.join('')).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    expect(written).toContain('1 the ␛[2Janswer\n');
  });
});

describe('for a person who wants no colour', () => {
  it('text goes out as it comes, and a line on standard error begins a row of its own', () => {
    const written = show(true, (view, event) => {
      for (const each of turn(event)) view.event(each);
      view.end(END);
    });
    expect(written).toEqual([
      ...['1 I look ', '1 first.', '1 \n'],
      CALL_LINE,
      ...['1 There is ', '1 no such file.', '1 \n'],
      GAUGES_LINE,
    ]);
  });
});
