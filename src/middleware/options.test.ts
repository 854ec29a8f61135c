import { describe, expect, it } from 'vitest';
import { runOnce } from '../../test/support/middleware-call.ts';
import type { ToolMiddleware } from '../define/middleware.ts';
import { toolResult } from '../define/tool.ts';
import { DefinitionError } from '../errors.ts';
import { cache, logCalls, rateLimit, redact, retry } from './index.ts';

describe('options', () => {
  type Make = (options: never) => ToolMiddleware;
  const limit = { calls: 1, perMs: 1 };
  const tools = ['t'];
  const clock = { now: () => 0 };

  it.each<readonly [Make, unknown, string, string]>([
    [retry, undefined, 'retry', 'retry must be given as an object, not undefined'],
    [retry, { tools, delay: 1 }, 'delay', 'retry has no option "delay": it takes tools, times'],
    [retry, {}, 'tools', '"tools" of retry must list the tools by name: a call may not bear to run twice'],
    [retry, { tools: 't' }, 'tools', '"tools" of retry must be a list, not "t"'],
    [retry, { tools: [] }, 'tools', '"tools" of retry must name at least one tool'],
    [retry, { tools: ['t', ' '] }, 'tools[1]', '"tools[1]" of retry must be the name of a tool, not " "'],
    [retry, { tools, times: 0 }, 'times', '"times" of retry must be a whole number from 1, not 0'],
    [retry, { tools, times: 1.5 }, 'times', '"times" of retry must be a whole number from 1, not 1.5'],
    [retry, { tools, times: null }, 'times', '"times" of retry must be a whole number from 1, not null'],
    [retry, { tools, delayMs: -1 }, 'delayMs', '"delayMs" of retry must be a number of milliseconds from 0, not -1'],
    [retry, { tools, delayMs: Number.NaN }, 'delayMs', 'must be a number of milliseconds from 0, not NaN'],
    [retry, { tools, maxDelayMs: Infinity }, 'maxDelayMs', 'must be a number of milliseconds from 0, not Infinity'],
    [retry, { tools, when: true }, 'when', '"when" of retry must be a function, not true'],
    [retry, { tools, random: 1 }, 'random', '"random" of retry must be a function, not 1'],
    [retry, { tools, clock }, 'clock', 'must be a clock with now, setTimer and clearTimer, not an object'],
    [cache, {}, 'tools', '"tools" of cache must list the tools by name: a call that changes something must run'],
    [cache, { tools: 'all' }, 'tools', '"tools" of cache must be a list, not "all"'],
    [
      cache,
      { tools, ttlMs: 0 },
      'ttlMs',
      '"ttlMs" of cache must be a number of milliseconds from 1, or Infinity, not 0',
    ],
    [cache, { tools, max: Infinity }, 'max', '"max" of cache must be a whole number from 1, not Infinity'],
    [cache, { tools, key: 'id' }, 'key', '"key" of cache must be a function, not "id"'],
    [redact, null, 'redact', 'redact must be given as an object, not null'],
    [redact, { values: 'secret' }, 'values', '"values" of redact must be a list, not a string'],
    [redact, { patterns: [/a*/] }, 'patterns[0]', 'must be a regular expression that matches at least one character'],
    [redact, { patterns: ['a'] }, 'patterns[0]', 'that matches at least one character, not "a"'],
    [redact, { names: ['_'] }, 'names[0]', '"names[0]" of redact must be the name of a member, not "_"'],
    [redact, { wellKnown: 1 }, 'wellKnown', '"wellKnown" of redact must be true or false, not 1'],
    [redact, { replace: 1 }, 'replace', '"replace" of redact must be a text, not 1'],
    [rateLimit, { perMs: 1 }, 'calls', '"calls" of rateLimit must be a whole number from 1, not undefined'],
    [rateLimit, { calls: 1 }, 'perMs', '"perMs" of rateLimit must be a number of milliseconds from 1, not undefined'],
    [rateLimit, { ...limit, tools: [] }, 'tools', '"tools" of rateLimit must name at least one tool'],
    [rateLimit, { ...limit, maxWaitMs: -1 }, 'maxWaitMs', 'milliseconds from 0, or Infinity, not -1'],
    [logCalls, { log: 'console' }, 'log', '"log" of logCalls must be a function, not "console"'],
    [logCalls, { arguments: 'yes' }, 'arguments', '"arguments" of logCalls must be true or false, not "yes"'],
    [logCalls, { results: true }, 'results', 'logCalls has no option "results": it takes log, arguments, clock'],
  ])('%o refuses %o at "%s"', (make, options, field, message) => {
    const refused = (): ToolMiddleware => make(options as never);

    expect(refused).toThrow(DefinitionError);
    expect(refused).toThrow(expect.objectContaining({ kind: 'invalid_middleware', field }));
    expect(refused).toThrow(message);
  });

  it('a clock that cannot be looked at is none', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect(() => logCalls({ clock: proxy as never })).toThrow('"clock" of logCalls must be a clock with now');
  });

  it('a getter that throws is told as an option that cannot be read', () => {
    const options = {
      get tools(): never {
        throw new Error('no');
      },
    };

    expect(() => retry(options)).toThrow('"tools" of retry cannot be read');
  });

  it('lists are copied: what is done to them later changes nothing', async () => {
    const names = ['t'];
    const middleware = cache({ tools: names });
    names[0] = 'u';
    let runs = 0;
    for (let time = 0; time < 2; time++) await runOnce(middleware, () => toolResult(`run ${++runs}`));

    expect(runs).toBe(1);
  });
});
