import { describe, expect, it } from 'vitest';
import type { JournalEntry, JournalRecord } from '../journal/journal.ts';
import type { AssistantContent, AssistantMessage, Message, Usage } from '../model/model.ts';
import { SessionState } from './history.ts';

const usage: Usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3, cachedInputTokens: 0, reasoningTokens: 0 };
const inStep = { turnId: 't', stepId: 't.1' };

const user = (text: string): Message & { role: 'user' } => ({ role: 'user', content: [{ type: 'text', text }] });
const call = (toolCallId: string, more: object = {}): AssistantContent => {
  return { type: 'tool-call', toolCallId, toolName: 'a', input: {}, ...more };
};
const assistant = (...content: AssistantContent[]): AssistantMessage => ({ role: 'assistant', content });

const started: JournalEntry = { type: 'turn.started', turnId: 't', mode: '', limits: {}, message: user('go') };
const step: JournalEntry = { type: 'step.started', ...inStep, step: 1 };
const done: JournalEntry = { type: 'step.done', ...inStep };
const totals = { usage, steps: 1, iterations: 1, calls: 1 };
const responded = (...content: AssistantContent[]): JournalEntry => {
  const finishReason = { unified: 'stop' as const, raw: undefined };
  return { type: 'step.responded', ...inStep, message: assistant(...content), finishReason, usage };
};
const completed = (callId: string, value: string): JournalEntry => {
  const output = { type: 'text' as const, value };
  return { type: 'tool.completed', ...inStep, callId, toolName: 'a', outcome: 'done', output, durationMs: 1 };
};

/** The state after these entries. */
function stateAfter(...entries: readonly JournalEntry[]): SessionState {
  const state = new SessionState();
  for (const [index, entry] of entries.entries()) state.apply({ ...entry, seq: index + 1, at: 0 } as JournalRecord);
  return state;
}

describe('a step', () => {
  it('enters the history when it is done: its response, and one message with the results in call order', () => {
    const entries = [started, step, responded({ type: 'text', text: 'hm' }, call('c1'), call('c2'))];
    const running = [...entries, completed('c2', 'second'), completed('c1', 'first')];
    expect(stateAfter(...running).messages).toEqual([user('go')]);
    expect(stateAfter(...running, done).messages).toEqual([
      user('go'),
      assistant({ type: 'text', text: 'hm' }, call('c1'), call('c2')),
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'a', output: { type: 'text', value: 'first' } },
          { type: 'tool-result', toolCallId: 'c2', toolName: 'a', output: { type: 'text', value: 'second' } },
        ],
      },
    ]);
    expect(stateAfter(...running, done).callIds).toEqual(new Set(['c1', 'c2']));
  });

  it('without calls of ours enters it as one message', () => {
    const ran = call('s', { providerExecuted: true });
    expect(stateAfter(started, step, responded(ran), done).messages.slice(1)).toEqual([assistant(ran)]);
  });

  it('that is not done was never said, also where another follows', () => {
    const next = { ...step, stepId: 't.2' } as JournalEntry;
    const state = stateAfter(
      started,
      step,
      responded(call('c1')),
      next,
      responded({ type: 'text', text: 'fine' }),
      done,
    );
    expect(state.messages.slice(1)).toEqual([assistant({ type: 'text', text: 'fine' })]);
    expect(state.callIds.size).toBe(0);
  });

  it('that is done twice is said once', () => {
    expect(stateAfter(started, step, responded({ type: 'text', text: 'a' }), done, done).messages).toHaveLength(2);
  });

  it('that is done without a result of each call is refused', () => {
    expect(() => stateAfter(started, step, responded(call('c1'), call('c2')), completed('c1', 'x'), done)).toThrow(
      'step is done, but call c2 has no result',
    );
  });
});

describe('a turn', () => {
  it('that is open tells what it has used, but for what the control tool and the provider did', () => {
    const control = call('f', { toolName: '_looprig_final_output' });
    const ran = call('s', { providerExecuted: true });
    const state = stateAfter(started, step, responded(call('c1'), call('c2'), ran, control), step, responded(control));
    expect(state.turn).toMatchObject({ steps: 2, iterations: 1, calls: 2, usage: { totalTokens: 6 } });
  });

  it.each<readonly [JournalEntry, 'done' | 'failed' | 'interrupted', boolean]>([
    [{ type: 'turn.done', turnId: 't', finishReason: { unified: 'stop', raw: undefined }, ...totals }, 'done', false],
    [{ type: 'turn.failed', turnId: 't', error: { name: 'E', kind: 'k', message: 'm' }, ...totals }, 'failed', true],
    [{ type: 'turn.interrupted', turnId: 't', ...totals }, 'interrupted', true],
  ])('that ended by $type says how, and whether it can be taken up', (end, outcome, canContinue) => {
    const state = stateAfter(started, end);
    expect([state.turn, state.lastOutcome, state.canContinue]).toEqual([undefined, outcome, canContinue]);
    expect(stateAfter(started, end, started).canContinue).toBe(false);
  });
});

describe('an input', () => {
  const received = (inputId: string, as: 'turn' | 'steer' = 'turn'): JournalEntry => {
    return { type: 'input.received', inputId, as, message: user(inputId) };
  };

  it('waits until a turn begins with it, it is folded in, or it is cancelled', () => {
    const state = stateAfter(
      ...[received('a'), received('b', 'steer'), received('c'), received('d')],
      { type: 'turn.started', turnId: 't', mode: '', limits: {}, inputId: 'a' },
      { type: 'input.steered', turnId: 't', inputId: 'b' },
      { type: 'input.cancelled', inputId: 'c' },
    );
    expect(state.messages).toEqual([user('a'), user('b')]);
    expect([...state.waiting.keys()]).toEqual(['d']);
  });

  it('that nobody received says nothing', () => {
    expect(stateAfter({ type: 'input.steered', turnId: 't', inputId: 'x' }).messages).toEqual([]);
  });
});

describe('the title', () => {
  it.each([
    ['  Fix the build\r\nplease ', 'Fix the build'],
    ['', ''],
    ['x'.repeat(80), 'x'.repeat(80)],
    ['x'.repeat(81), `${'x'.repeat(79)}…`],
    [`${'x'.repeat(78)}🙂🙂`, `${'x'.repeat(78)}…`],
  ])('of %j is %j', (text, title) => {
    expect(stateAfter({ ...started, message: user(text) } as JournalEntry).title).toBe(title);
    expect(stateAfter().title).toBe('');
  });
});

it('an imported history can be gone on with unless it ends with an answer', () => {
  const imported = (...messages: Message[]): JournalEntry => ({ type: 'history.imported', messages });
  expect(stateAfter(imported(user('a'))).canContinue).toBe(true);
  expect(stateAfter(imported(user('a'), assistant({ type: 'text', text: 'b' }))).canContinue).toBe(false);
  expect(stateAfter(imported()).canContinue).toBe(false);
  expect(stateAfter(imported(assistant(call('c')))).callIds).toEqual(new Set(['c']));
});
