import fc from 'fast-check';
import { expect, it } from 'vitest';
import { modelNames } from './names.ts';

const namesOf = (names: readonly string[], prefix = ''): readonly string[] => [...modelNames(names, prefix).values()];
const HASHED = /^[A-Za-z0-9_-]+_[0-9a-f]{8}$/;

it('a name that providers take stays as it is', () => {
  expect(namesOf(['read_file', 'get-sum', 'A1'])).toEqual(['read_file', 'get-sum', 'A1']);
  expect(namesOf(['read'], 'files_')).toEqual(['files_read']);
});

it('other characters are replaced, one for one', () => {
  expect(namesOf(['basic/search', 'a.b c', 'größe', '🙂'])).toEqual(['basic_search', 'a_b_c', 'gr__e', '_']);
});

it('a long name is cut, and told apart by its hash', () => {
  const [one = '', other = ''] = namesOf([`${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`]);
  expect(one).toHaveLength(64);
  expect(one).toMatch(HASHED);
  expect(other).toMatch(HASHED);
  expect(one).not.toBe(other);
});

it('of names that would become one, that which is so already keeps it, and the others are told apart', () => {
  const [dot, own, slash] = namesOf(['a.b', 'a_b', 'a/b']);
  expect(own).toBe('a_b');
  expect(dot).toMatch(HASHED);
  expect(slash).toMatch(HASHED);
  expect(dot).not.toBe(slash);
});

it('reserved names, and those that every object has, get a hash', () => {
  for (const name of namesOf(['read_tool_result', '_looprig_final_output', '__proto__', 'constructor', 'toString'])) {
    expect(name).toMatch(HASHED);
  }
  expect(namesOf(['constructor'], 'x_')).toEqual(['x_constructor']);
});

it('names of which only halves of characters differ are told apart', () => {
  const made = namesOf(['\ud83d', '\ude42', 'a\ud83d', 'a\ude42', '\ufffd']);
  expect(new Set(made).size).toBe(5);
});

it('whatever the names, the model-facing ones are taken by providers, differ, and do not depend on the order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 90, unit: 'binary' }), { maxLength: 30 }), names => {
      const made = modelNames(names, '');
      expect(new Set(made.values()).size).toBe(names.length);
      for (const name of made.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      const turned = modelNames([...names].reverse(), '');
      for (const name of names) expect(turned.get(name)).toBe(made.get(name));
    }),
  );
});
