import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HistoryError } from '../errors.ts';
import type { Message } from '../model/model.ts';
import { assertPaired } from '../testing/paired.ts';
import { checkHistory } from './imported-history.ts';

const user: Message = { role: 'user', content: [{ type: 'text', text: 'hi' }] };
const answer: Message = { role: 'assistant', content: [{ type: 'text', text: 'fine' }] };
const calls = (...ids: string[]): Message => {
  const content = ids.map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 'a', input: {} }));
  return { role: 'assistant', content };
};
const results = (...ids: string[]): Message => ({
  role: 'tool',
  content: ids.map(toolCallId => {
    return { type: 'tool-result', toolCallId, toolName: 'a', output: { type: 'text', value: `${toolCallId} ok` } };
  }),
});

describe('a history that is right', () => {
  it.each<readonly [string, readonly Message[]]>([
    ['empty', []],
    ['a talk', [user, answer, user]],
    ['with two of the user in a row', [user, user, answer]],
    ['with calls', [user, calls('a', 'b'), results('a', 'b'), answer]],
    ['with steps in a row', [user, calls('a'), results('a'), calls('b'), results('b')]],
  ])('is taken over as it is: %s', (_, history) => {
    expect(checkHistory(history, false)).toEqual({ messages: history, repairs: [] });
    expect(checkHistory(history, true)).toEqual({ messages: history, repairs: [] });
  });

  it('is copied and frozen all through, with its results in call order', () => {
    const history = [calls('a', 'b'), results('b', 'a')];
    const { messages } = checkHistory(history, false);
    expect(messages[1]).toEqual(results('a', 'b'));
    expect(messages[0]).not.toBe(history[0]);
    expect(Object.isFrozen(messages) && Object.isFrozen(messages[1]!.content[0])).toBe(true);
    expect(Object.isFrozen(history[0])).toBe(false);
  });

  it('need not answer what the provider ran', () => {
    const ran: Message = {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 's', toolName: 'search', input: {}, providerExecuted: true }],
    };
    expect(checkHistory([user, ran, user], false).messages).toEqual([user, ran, user]);
  });
});

const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe('a history that is wrong is refused, with the place', () => {
  it.each<readonly [string, unknown, number, RegExp]>([
    ['no list', { length: 1 }, 0, /must be a list of messages/],
    ['no message', [user, null], 1, /its role must be/],
    ['a gap', Object.assign(new Array(2), { 0: user }), 1, /its role must be/],
    ['an unknown role', [{ role: 'developer', content: [] }], 0, /its role must be/],
    ['a system message', [{ role: 'system', content: 'x' }], 0, /belongs in the loop definition/],
    ['text for content', [user, { role: 'user', content: 'hi' }], 1, /must be a list of parts/],
    ['a part that is none', [{ role: 'assistant', content: [null] }], 0, /part 0 of its content must be an object/],
    ['a part without a type', [{ role: 'user', content: [{ text: 'a' }] }], 0, /part 0 of its content must be/],
    ['a function', [{ role: 'user', content: [{ type: 'text', text: () => 'a' }] }], 0, /cannot be copied/],
    ['what cannot be looked at', [user, revoked.proxy], 1, /cannot be copied/],
    ['a call without an answer', [user, calls('a'), user], 1, /the call "a" of "a" has no result/],
    ['a call without an answer at the end', [user, calls('a')], 1, /has no result/],
    ['half of an answer', [calls('a', 'b'), results('a'), results('b')], 1, /the call "b" of "a" has no result/],
    ['a result of no call', [calls('a'), results('a', 'x')], 1, /a result for "x"/],
    ['two results', [calls('a'), results('a', 'a')], 1, /a second result for "a"/],
    [
      'a result without an output',
      [calls('a'), { role: 'tool', content: [{ ...(results('a').content[0] as object), output: undefined }] }],
      1,
      /without an output/,
    ],
    [
      'a result under another name',
      [calls('a'), { role: 'tool', content: [{ ...(results('a').content[0] as object), toolName: 'b' }] }],
      1,
      /names another tool/,
    ],
    ['a tool message of its own', [user, results('a')], 1, /must follow the assistant message/],
    ['a tool message after no call', [answer, { role: 'tool', content: [] }], 1, /must follow the assistant message/],
    ['a call id that stands twice', [calls('a'), results('a'), calls('a'), results('a')], 2, /"a" stands twice/],
    ['a call without an id', [calls('')], 0, /a call has no id/],
  ])('%s', (_, history, index, message) => {
    expect(() => checkHistory(history as never, false)).toThrow(HistoryError);
    expect(() => checkHistory(history as never, false)).toThrow(expect.objectContaining({ index }));
    expect(() => checkHistory(history as never, false)).toThrow(message);
  });
});

describe('a repair', () => {
  it('answers what is unanswered, leaves out what answers nothing, and says so', () => {
    const history = [results('x'), user, calls('a', 'b'), results('b', 'b', 'y'), answer, results('z'), calls('c')];
    const { messages, repairs } = checkHistory(history, true);
    const unavailable = (toolCallId: string) => {
      const output = { type: 'error-text', value: 'result not available' };
      return { type: 'tool-result', toolCallId, toolName: 'a', output };
    };
    expect(messages).toEqual([
      user,
      calls('a', 'b'),
      { role: 'tool', content: [unavailable('a'), results('b').content[0]] },
      answer,
      calls('c'),
      { role: 'tool', content: [unavailable('c')] },
    ]);
    expect(repairs).toEqual([
      { index: 0, change: 'left out: it answers no call' },
      { index: 3, change: 'left out a second result for "b"' },
      { index: 3, change: 'left out a result for "y", which the message before it does not call' },
      { index: 3, change: 'answered the call "a" of "a"' },
      { index: 5, change: 'left out: it answers no call' },
      { index: 6, change: 'answered the call "c" of "a"' },
    ]);
  });

  it('keeps results that came in messages of their own', () => {
    const { messages, repairs } = checkHistory([calls('a', 'b', 'c'), results('a'), results('c'), user], true);
    expect(messages[1]).toMatchObject({
      content: [
        { output: { value: 'a ok' } },
        { output: { value: 'result not available' } },
        { output: { value: 'c ok' } },
      ],
    });
    expect(messages[2]).toEqual(user);
    expect(repairs.map(({ change }) => change)).toEqual([
      'joined with the tool message before it',
      'answered the call "b" of "a"',
    ]);
  });

  it('gives a result the name of its call', () => {
    const renamed = { role: 'tool', content: [{ ...(results('a').content[0] as object), toolName: 'b' }] } as Message;
    const { messages, repairs } = checkHistory([calls('a'), renamed], true);
    expect(messages).toEqual([calls('a'), results('a')]);
    expect(repairs).toEqual([{ index: 1, change: 'renamed the result for "a" to "a"' }]);
  });

  it('of anything makes a history that is right, or refuses it', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', '');
    const message = fc.oneof(
      fc.constantFrom(user, answer),
      fc.uniqueArray(id, { maxLength: 3 }).map(ids => calls(...ids)),
      fc.array(id, { maxLength: 3 }).map(ids => results(...ids)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), history => {
        let repaired: readonly Message[];
        try {
          repaired = checkHistory(history, true).messages;
        } catch (error) {
          expect(error).toMatchObject({ message: expect.stringMatching(/stands twice|a call has no id/) });
          return;
        }
        assertPaired(repaired);
        expect(checkHistory(repaired, false)).toEqual({ messages: repaired, repairs: [] });
      }),
      { numRuns: 2_000 },
    );
  });
});
