import { LooprigError, ToolLimitError, type TurnResult, TurnTimeoutError } from 'looprig';
import { describe, expect, it } from 'vitest';
import { doneResult, usage } from '../../test/cli/turn-events.ts';
import { conclude } from './conclude.ts';

const FIGURES = { text: '', usage: usage(0), steps: 1, iterations: 1, calls: 7 };
const REACHED = {
  limit: 'calls' as const,
  ...{ iterations: 2, maxIterations: 25, calls: 7, maxCalls: 5 },
  ...{ tokens: 9, maxTokens: Number.POSITIVE_INFINITY },
};
const ALONE = { denied: 0, remote: undefined };

function failed(error: Extract<TurnResult, { status: 'failed' }>['error']): TurnResult {
  return { status: 'failed', error, leftBehind: [], ...FIGURES };
}

describe('the exit status', () => {
  it('is 0, without a reason, for an answer', () => {
    expect(conclude(doneResult('yes'), ALONE)).toMatchObject({ exitStatus: 0, word: 'done', reason: undefined });
  });

  it.each([
    ['length', 'cut off by the output limit'],
    ['content-filter', 'content filter'],
  ] as const)('is 0 for an answer ended by %s, and the reason says so', (unified, words) => {
    const end = conclude({ ...doneResult('yes'), finishReason: { unified, raw: undefined } }, ALONE);
    expect(end.exitStatus).toBe(0);
    expect(end.reason).toContain(words);
  });

  it('is 0 for an answer without text, and the reason says so', () => {
    const end = conclude(doneResult(' \n'), ALONE);
    expect(end).toMatchObject({ exitStatus: 0, word: 'done, without text' });
    expect(end.reason).toContain('holds no text');
  });

  it('is 3 for an answer at a limit, and the reason says which and how to allow more', () => {
    const end = conclude({ ...doneResult('yes'), limited: REACHED }, ALONE);
    expect(end.exitStatus).toBe(3);
    expect(end.reason).toBe(
      'turn stopped at a limit: the model asked for 7 tool calls, 5 are allowed in one turn: allow more with --limits calls=10',
    );
  });

  it('is 3 for a turn that failed at a limit, and more is advised than was asked for', () => {
    const end = conclude(failed(new ToolLimitError({ ...REACHED, calls: 50 })), ALONE);
    expect(end).toMatchObject({ exitStatus: 3, word: 'failed at a limit' });
    expect(end.reason).toContain('--limits calls=50');
  });

  it('is 3 for a model that repeats itself, where no higher limit would help', () => {
    const repeated = { toolName: 'look', times: 6 };
    const end = conclude(failed(new ToolLimitError({ ...REACHED, limit: 'repeat', repeated })), ALONE);
    expect(end.exitStatus).toBe(3);
    expect(end.reason).toMatch(/6 times in a row: ask in another way, or another model$/);
  });

  it('is 3 for a turn whose time was over', () => {
    const end = conclude(failed(new TurnTimeoutError(500)), ALONE);
    expect(end.exitStatus).toBe(3);
    expect(end.reason).toContain('--limits turnTimeoutMs=1000');
  });

  it('is 1 for a turn that failed otherwise, with the message of the error', () => {
    const error = new LooprigError('internal', 'a fault');
    expect(conclude(failed(error), ALONE)).toMatchObject({ exitStatus: 1, word: 'failed', reason: 'a fault' });
  });

  it('is 4 for an answer without the calls that were denied', () => {
    const end = conclude(doneResult('no'), { ...ALONE, denied: 2 });
    expect(end.exitStatus).toBe(4);
    expect(end.reason).toMatch(/^2 calls were denied, .* run it with --approve all$/);
  });

  it('is 4 for a turn that failed with a call denied, and both reasons are told', () => {
    const end = conclude(failed(new ToolLimitError(REACHED)), { ...ALONE, denied: 1 });
    expect(end.exitStatus).toBe(4);
    expect(end.reason).toMatch(/^1 call was denied, .*; and turn stopped at a limit/);
  });

  it('is 130 for an interrupted turn, denied calls or not, and what was left running is named', () => {
    const leftBehind = [{ callId: '1', toolName: 'dig' }];
    const end = conclude({ status: 'interrupted', leftBehind, ...FIGURES }, { ...ALONE, denied: 1 });
    expect(end.exitStatus).toBe(130);
    expect(end.reason).toMatch(/left running: dig$/);
  });
});
