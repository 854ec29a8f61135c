import { ModelError, type TurnEvent, type TurnResult } from 'looprig';
import { expect, it } from 'vitest';
import { doneResult, turnEvents } from '../../test/cli/turn-events.ts';
import { JsonView, type JsonViewOptions } from './json-view.ts';
import { SecretFilter } from './secrets.ts';

const ALL: JsonViewOptions = { quiet: false, hideReasoning: false };
const KEY = 'sk-test-1234567890';

function written(
  options: JsonViewOptions,
  act: (view: JsonView) => void,
): { lines: unknown[]; raw: string; progress: string } {
  const output = { answer: '', progress: '' };
  const view = new JsonView(
    {
      answer: text => {
        output.answer += text;
      },
      progress: text => {
        output.progress += text;
      },
    },
    new SecretFilter({ OPENAI_API_KEY: KEY }),
    options,
  );
  act(view);
  const lines = output.answer.split('\n');
  expect(lines.pop()).toBe(''); // the last line is ended too
  return { lines: lines.map(line => JSON.parse(line)), raw: output.answer, progress: output.progress };
}

const event = turnEvents(() => 5);
const ended = (result: TurnResult, exitStatus: number) => ({ result, exitStatus, word: '', reason: undefined });

it('writes each event as one line, then the result', () => {
  const events: TurnEvent[] = [event('step.started', { step: 1 }), event('text.delta', { text: 'two\nlines' })];
  const { lines } = written(ALL, view => {
    for (const each of events) view.event(each);
    view.end(ended(doneResult('yes'), 0));
  });
  expect(lines).toEqual([...events, { type: 'result', exitStatus: 0, ...doneResult('yes') }]);
});

it('writes what a terminal may obey as escapes, so that the data is the same and the line harmless', () => {
  const text = 'a\u001b[2J\u009b2J\u202e\u2028\u007f';
  const { lines, raw } = written(ALL, view => view.event(event('text.delta', { text })));
  expect(lines).toEqual([expect.objectContaining({ text })]);
  expect(raw).toMatch(/^[\x20-\x7e]*\n$/);
});

it('writes an error by class, kind and message, and a limit that is none not at all', () => {
  const cause = new Error('inside');
  const error = new ModelError('request_failed', 'no', { attempts: 3, cause });
  const { text, usage, steps, iterations, calls } = doneResult('');
  const figures = { text, usage, steps, iterations, calls };
  const limited = { limit: 'calls' as const, iterations: 1, maxIterations: 25, calls: 7, maxCalls: 5, tokens: 1 };
  const { lines } = written(ALL, view => {
    view.end(ended({ status: 'failed', error, leftBehind: [], ...figures }, 1));
    view.end(ended({ ...doneResult('yes'), limited: { ...limited, maxTokens: Number.POSITIVE_INFINITY } }, 3));
  });
  expect(lines[0]).toMatchObject({ error: { name: 'ModelError', kind: 'request_failed', message: 'no' } });
  expect(Object.keys((lines[0] as { error: object }).error)).toEqual(['name', 'kind', 'message']);
  expect(lines[1]).toMatchObject({ limited });
  expect(Object.keys((lines[1] as { limited: object }).limited)).not.toContain('maxTokens');
});

it('never writes a key', () => {
  const { raw } = written(ALL, view => view.event(event('text.delta', { text: `my key is ${KEY}` })));
  expect(raw).toContain('my key is [redacted]');
});

it('tells the model, notices and reasons on standard error, and only reasons when quiet', () => {
  const act = (view: JsonView): void => {
    view.start({ model: 'demo', workspace: '.', mode: '', prompt: 'what?', tries: 3 });
    view.notice('a notice');
    view.end({ ...ended(doneResult('yes'), 3), reason: 'a reason' });
  };
  expect(written(ALL, act).progress).toBe('model: demo\na notice\nlooprig: a reason\n');
  expect(written({ ...ALL, quiet: true }, act).progress).toBe('looprig: a reason\n');
});

it('leaves out what the model thinks where it is to be hidden, and nothing else', () => {
  const events = [event('reasoning.delta', { text: 'hm' }), event('text.delta', { text: 'yes' })];
  const act = (view: JsonView): void => {
    for (const each of events) view.event(each);
  };
  expect(written(ALL, act).lines).toEqual(events);
  expect(written({ ...ALL, hideReasoning: true }, act).lines).toEqual(events.slice(1));
});
