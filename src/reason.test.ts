import { describe, expect, it } from 'vitest';
import { reasonOf } from './reason.ts';

const hostile = (): never => {
  throw new Error('hostile');
};
const { proxy: revoked, revoke } = Proxy.revocable(new Error('gone'), {});
revoke();

describe('the reason of what was thrown', () => {
  it.each<readonly [string, unknown, string]>([
    ['an error', new TypeError('no'), 'no'],
    ['an error without a message', new TypeError(''), 'TypeError'],
    ['an error whose message is no text', Object.assign(new Error(''), { message: 7 }), '7'],
    ['a text', 'no', 'no'],
    ['an object with a message', { message: 'no' }, 'no'],
    ['an object', {}, 'it threw an object'],
    ['nothing', undefined, 'it threw undefined'],
    ['a symbol', Symbol('s'), 'it threw a symbol'],
  ])('%s', (_, thrown, reason) => {
    expect(reasonOf(thrown)).toBe(reason);
  });

  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['a number', 7],
    ['an error without a message', new Error('')],
    ['an empty text', ''],
    ['an object whose message is no text', { message: 7 }],
  ])('is what else is to be said, where it is %s', (_, thrown) => {
    expect(reasonOf(thrown, 'it cannot be read')).toBe('it cannot be read');
  });

  it.each<readonly [string, unknown]>([
    ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get: hostile })],
    ['an error whose message cannot be a text', Object.assign(new Error(''), { message: { toString: hostile } })],
    ['an error without a message whose name throws', Object.defineProperty(new Error(''), 'name', { get: hostile })],
    ['a proxy', new Proxy({}, { get: hostile, getPrototypeOf: hostile })],
    ['a revoked proxy', revoked],
  ])('throws nothing for %s', (_, thrown) => {
    expect(reasonOf(thrown)).toBe('it failed without a readable message');
    expect(reasonOf(thrown, 'else')).toBe('else');
  });
});
