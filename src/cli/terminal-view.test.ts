import type { TurnEvent } from 'looprig';
import { type ManualClock, manualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { Screen } from '../../test/cli/screen.ts';
import { doneResult, turnEvents, usage } from '../../test/cli/turn-events.ts';
import { SecretFilter } from './secrets.ts';
import { createPainter } from './style.ts';
import { TerminalView } from './terminal-view.ts';

const HEADER = { model: 'demo', workspace: '/folder', mode: '', prompt: 'what is this?', tries: 3 };
const LIMITS = { iterations: 25, calls: 100, parallel: 8 };
const FINISHED = { finishReason: { unified: 'stop' as const, raw: undefined }, usage: usage(780) };
const END = { result: doneResult('yes'), exitStatus: 0, word: 'done', reason: undefined };

interface Shown {
  readonly view: TerminalView;
  readonly screen: Screen;
  readonly clock: ManualClock;
  readonly event: ReturnType<typeof turnEvents>;
  /** What went to standard output. */
  readonly answer: () => string;
}

function open(columns = 80, rows = 24, isColoured = true, hideReasoning = false): Shown {
  const screen = new Screen(columns);
  const clock = manualClock();
  let answer = '';
  const output = {
    answer: (text: string) => {
      answer += text;
      screen.write(text);
    },
    progress: screen.write,
  };
  const view = new TerminalView({
    ...{ output, clock },
    secrets: new SecretFilter({ OPENAI_API_KEY: 'sk-test-1234567890' }),
    paint: createPainter(isColoured),
    isLive: true,
    hideReasoning,
    columns: () => columns,
    rows: () => rows,
  });
  return { view, screen, clock, event: turnEvents(() => clock.now()), answer: () => answer };
}

/** Begins a turn with calls of `names`, of which the first `running` have started. */
function begin({ view, event }: Shown, names: readonly string[], running = names.length): void {
  view.start(HEADER);
  view.event(event('turn.started', { input: [], mode: '', limits: LIMITS }));
  view.event(event('step.started', { step: 1 }));
  const calls = names.map((name, index) => ({ callId: `call-${index}`, toolName: 'read_file', name }));
  for (const { name, ...call } of calls) {
    view.event(event('tool.called', { ...call, input: { path: name }, summary: `read ${name}` }));
  }
  for (const { callId, toolName } of calls.slice(0, running)) view.event(event('tool.started', { callId, toolName }));
}

function completed({ event }: Shown, index: number, durationMs: number, failure?: string): TurnEvent {
  const output =
    failure === undefined ? { type: 'text' as const, value: 'ok' } : { type: 'error-text' as const, value: failure };
  const outcome = failure === undefined ? ('done' as const) : ('failed' as const);
  const call = { callId: `call-${index}`, toolName: 'read_file' };
  return event('tool.completed', { ...call, outcome, isError: failure !== undefined, output, durationMs });
}

describe('a turn in a terminal', () => {
  it('has a row for each call that runs or waits, with a spinner and its time, and the gauges below', async () => {
    const shown = open();
    begin(shown, ['a.ts', 'b.ts', 'c.ts'], 2);
    await shown.clock.advance(1_530);
    expect(shown.screen.text).toBe(
      [
        'looprig · demo · /folder',
        '› what is this?',
        '',
        '⠴ read_file a.ts  1.5 s',
        '⠴ read_file b.ts  1.5 s',
        '· read_file c.ts  waits',
        '',
        'iterations 1/25 · calls 3/100 · running 2/8 · 1.5 s',
      ].join('\n'),
    );
  });

  it('prints calls with their outcome above those that run, in the order of finishing', () => {
    const shown = open();
    begin(shown, ['a.ts', 'b.ts', 'c.ts']);
    shown.view.event(completed(shown, 1, 12));
    shown.view.event(completed(shown, 0, 1_234, 'there is no file a.ts'));
    expect(shown.screen.lines.slice(3)).toEqual([
      '✓ read_file b.ts  12 ms',
      '✗ read_file a.ts  1.2 s  failed',
      '  there is no file a.ts',
      '⠋ read_file c.ts  0 ms',
      '',
      'iterations 1/25 · calls 3/100 · running 1/8 · 0 ms',
    ]);
  });

  it('streams text above the gauges, and takes them away at the end without a trace', async () => {
    const shown = open();
    begin(shown, ['a.ts']);
    shown.view.event(completed(shown, 0, 3));
    shown.view.event(shown.event('step.done', { text: '', ...FINISHED }));
    shown.view.event(shown.event('step.started', { step: 2 }));
    const text = 'The folder holds a library.\n\nAsk for more.';
    for (const letter of text) {
      shown.view.event(shown.event('text.delta', { text: letter }));
      await shown.clock.advance(10);
    }
    await shown.clock.advance(100);
    expect(shown.screen.lines.slice(3)).toEqual([
      ...['✓ read_file a.ts  3 ms', '', 'The folder holds a library.', '', 'Ask for more.', ''],
      'iterations 1/25 · calls 1/100 · running 0/8 · 780 tokens · 520 ms',
    ]);
    shown.view.event(shown.event('step.done', { text, ...FINISHED }));
    shown.view.end(END);
    expect(shown.screen.lines.slice(3)).toEqual([
      ...['✓ read_file a.ts  3 ms', '', 'The folder holds a library.', '', 'Ask for more.', ''],
      '✓ done · steps 2 · iterations 1/25 · calls 1/100 · parallel peak 1/8',
      '1,560 tokens: 1,560 in, 0 out · 520 ms',
    ]);
    expect(shown.answer()).toBe(`${text}\n`);
    expect(shown.clock.pending).toBe(0);
  });

  it('shows text that did not come in pieces', () => {
    const shown = open();
    begin(shown, []);
    shown.view.event(shown.event('step.done', { text: 'A whole answer.', ...FINISHED }));
    shown.view.end(END);
    expect(shown.answer()).toBe('A whole answer.\n');
  });

  it('shows the whole text again where pieces of it were left out', () => {
    const shown = open();
    begin(shown, []);
    shown.view.event(shown.event('text.delta', { text: 'A whole wer.' }));
    shown.view.event(shown.event('step.done', { text: 'A whole answer.', ...FINISHED }));
    expect(shown.answer()).toBe('A whole wer.\nA whole answer.\n');
  });

  it('shows reasoning dimmed, and not as the answer', () => {
    const shown = open();
    begin(shown, []);
    shown.view.event(shown.event('reasoning.delta', { text: 'Let me think.\n' }));
    shown.view.event(shown.event('text.delta', { text: 'Yes.' }));
    shown.view.event(shown.event('step.done', { text: 'Yes.', ...FINISHED }));
    shown.view.end(END);
    expect(shown.answer()).toBe('Yes.\n');
    expect(shown.screen.lines.slice(3, 6)).toEqual(['Let me think.', '', 'Yes.']);
  });

  it('shows only that the model thinks where what it thinks is to be hidden', async () => {
    const shown = open(80, 24, true, true);
    begin(shown, []);
    await shown.clock.advance(2_000);
    shown.view.event(shown.event('reasoning.delta', { text: 'Let me think.\n' }));
    await shown.clock.advance(130);
    expect(shown.screen.lines[3]).toBe('⠙ the model thinks  2.1 s');
    shown.view.event(shown.event('text.delta', { text: 'Yes.' }));
    await shown.clock.advance(30);
    expect(shown.screen.lines.slice(3, 4)).toEqual(['Yes.']);
    expect(shown.screen.text).not.toContain('think');
  });

  it('sets the words of two steps apart', () => {
    const shown = open();
    begin(shown, []);
    shown.view.event(shown.event('step.done', { text: 'One moment.', ...FINISHED }));
    shown.view.event(shown.event('step.started', { step: 2 }));
    shown.view.event(shown.event('step.done', { text: 'Here it is.', ...FINISHED }));
    expect(shown.screen.lines.slice(3, 6)).toEqual(['One moment.', '', 'Here it is.']);
  });

  it('says of a failed attempt that it is dropped, and begins again below', async () => {
    const shown = open(100);
    begin(shown, []);
    shown.view.event(shown.event('text.delta', { text: 'The answ' }));
    shown.view.event(shown.event('step.retrying', { attempt: 2, delayMs: 1_500, reason: 'overloaded' }));
    await shown.clock.advance(1_500);
    expect(shown.screen.lines.slice(3, 8)).toEqual([
      ...['The answ', ''],
      'the request failed (overloaded): trying again in 1.5 s (2 of 3); what this step has said above is',
      ...['dropped', '⠴ waiting for the model  1.5 s'],
    ]);
    shown.view.event(shown.event('text.delta', { text: 'The answer.' }));
    shown.view.event(shown.event('step.done', { text: 'The answer.', ...FINISHED }));
    expect(shown.screen.lines.slice(6, 9)).toEqual(['dropped', '', 'The answer.']);
  });

  it('tells that it waits for the model, that the model writes a call, and retries', async () => {
    const shown = open();
    begin(shown, []);
    await shown.clock.advance(2_030);
    expect(shown.screen.lines[3]).toBe('⠋ waiting for the model  2.0 s');
    shown.view.event(shown.event('tool.input.delta', { inputId: '1', toolName: 'dig', text: '{' }));
    await shown.clock.advance(30);
    expect(shown.screen.lines[3]).toBe('⠋ the model writes a call of dig  2.1 s');
    shown.view.event(shown.event('step.retrying', { attempt: 2, delayMs: 1_500, reason: 'overloaded' }));
    expect(shown.screen.lines[3]).toBe('the request failed (overloaded): trying again in 1.5 s (2 of 3)');
  });

  it('shows how far a tool says it is', async () => {
    const shown = open();
    begin(shown, ['a.ts']);
    shown.view.event(shown.event('tool.progress', { callId: 'call-0', toolName: 'read_file', update: { done: 3 } }));
    await shown.clock.advance(130);
    expect(shown.screen.lines[3]).toBe('⠙ read_file a.ts {"done":3}  130 ms');
  });

  it('leaves the terminal clean when the program quits at once', () => {
    const shown = open();
    begin(shown, ['a.ts']);
    shown.view.event(shown.event('text.delta', { text: 'half a row' }));
    shown.view.abandon();
    expect(shown.screen.lines.at(-1)).toBe('half a row');
    expect(shown.clock.pending).toBe(0);
  });

  it('says why a run is no plain success', () => {
    const shown = open(40);
    begin(shown, []);
    shown.view.notice('interrupting the turn');
    shown.view.end({ ...END, exitStatus: 130, word: 'interrupted', reason: 'a tool was left running' });
    expect(shown.screen.lines.slice(3)).toEqual([
      ...['interrupting the turn', '', 'looprig: a tool was left running'],
      ...['■ interrupted · steps 0', 'iterations 0/25 · calls 0/100', 'parallel peak 0/8 · 0 tokens · 0 ms'],
    ]);
  });
});

describe('a small window', () => {
  it.each([3, 5, 12, 20, 40])('of %i columns never wraps a row', async columns => {
    const shown = open(columns, 10, false);
    begin(shown, ['src/a/very/long/path/to/some/file.ts', '漢字/絵文字/👩‍👩‍👧.md', 'c.ts'], 2);
    await shown.clock.advance(700);
    shown.view.event(
      completed(shown, 0, 12, 'a reason that is longer than a row of this window, and than two of them as well'),
    );
    shown.view.event(completed(shown, 1, 12));
    for (const letter of 'text with 漢字 and an unbreakableeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee word') {
      shown.view.event(shown.event('text.delta', { text: letter }));
      await shown.clock.advance(35);
    }
    shown.view.end({ ...END, reason: 'a reason' });
    expect(shown.screen.wraps).toBe(0);
    expect(shown.screen.text).not.toContain('running');
  });

  it('keeps a row free above what is drawn, since some terminals keep what is cleared from their first row on', async () => {
    const shown = open(80, 6);
    begin(shown, ['a', 'b', 'c', 'd', 'e'], 5);
    await shown.clock.advance(30);
    expect(shown.screen.lines.slice(2)).toEqual([
      ...['', '⠋ read_file a  30 ms', '… and 4 more', ''],
      expect.stringMatching(/^iterations /),
    ]);
  });

  it('shows as many calls as there are rows for, and counts the others', async () => {
    const shown = open(80, 7);
    begin(shown, ['a', 'b', 'c', 'd', 'e'], 5);
    await shown.clock.advance(30);
    expect(shown.screen.lines.slice(3, 6)).toEqual(['⠋ read_file a  30 ms', '⠋ read_file b  30 ms', '… and 3 more']);
  });

  it('keeps the time and the outcome of a call where its label has to be cut', () => {
    const shown = open(40);
    begin(shown, ['src/a/very/long/path/to/some/file.ts']);
    shown.view.event(completed(shown, 0, 12, 'no'));
    expect(shown.screen.lines[3]).toBe('✗ read_file src/a/very/…  12 ms  failed');
  });
});

describe('text from outside', () => {
  it('drives nothing: the terminal sees none of its controls, and hides no key', async () => {
    const hostile = '\u001b[2J\u001b]0;t\u0007\u009b1A\r\b\u007f\u202e sk-test-1234567890';
    const shown = open();
    shown.view.start({ ...HEADER, prompt: hostile, model: hostile });
    shown.view.event(shown.event('turn.started', { input: [], mode: '', limits: LIMITS }));
    shown.view.event(shown.event('step.started', { step: 1 }));
    shown.view.event(shown.event('reasoning.delta', { text: hostile }));
    for (const letter of hostile) shown.view.event(shown.event('text.delta', { text: letter }));
    const call = { callId: '1', toolName: hostile };
    shown.view.event(shown.event('tool.input.delta', { inputId: '1', toolName: hostile, text: hostile }));
    shown.view.event(shown.event('tool.called', { ...call, input: {}, summary: hostile }));
    shown.view.event(shown.event('tool.started', call));
    shown.view.event(shown.event('tool.progress', { ...call, update: hostile }));
    await shown.clock.advance(200);
    const output = { type: 'error-text' as const, value: hostile };
    shown.view.event(
      shown.event('tool.completed', { ...call, outcome: 'failed', isError: true, output, durationMs: 1 }),
    );
    shown.view.event(shown.event('tool.late', { ...call, isError: true }));
    shown.view.event(shown.event('step.retrying', { attempt: 2, delayMs: 1, reason: hostile }));
    shown.view.notice(hostile);
    shown.view.end({ ...END, reason: hostile });
    // The screen throws for every control that the view does not use itself.
    expect(shown.screen.text).toContain('› ␛[2J␛]0;t␇<U+009B>1A');
    expect(shown.screen.text).not.toContain('sk-test');
    expect(shown.answer()).toBe('␛[2J␛]0;t␇<U+009B>1A␍␈␡<U+202E> [redacted]\n');
  });
});
