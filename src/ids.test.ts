import { describe, expect, it, vi } from 'vitest';
import { namedId, newId } from './ids.ts';

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('new ids', () => {
  it('are UUIDs of version 7, each greater than the one before', () => {
    const ids = Array.from({ length: 20_000 }, newId);
    expect(ids.filter(id => !VERSION_7.test(id))).toEqual([]);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('begin with the time in milliseconds', () => {
    vi.useFakeTimers({ now: Date.parse('2050-01-01T00:00:00.123Z') });
    const id = newId();
    vi.useRealTimers();
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(Date.parse('2050-01-01T00:00:00.123Z'));
  });

  it('keep their order when the clock goes back', () => {
    vi.useFakeTimers({ now: Date.parse('2051-01-01') });
    const before = newId();
    vi.setSystemTime(Date.parse('2049-01-01'));
    const after = newId();
    vi.useRealTimers();
    expect(after > before).toBe(true);
    expect(after).toMatch(VERSION_7);
  });

  it('end with bits that nobody can guess', () => {
    const ends = Array.from({ length: 1_000 }, () => newId().slice(-10));
    expect(new Set(ends).size).toBe(1_000);
  });
});

describe('the id of a name', () => {
  const DNS = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

  it('is its UUID of version 5, as RFC 9562 has it', () => {
    expect(namedId('www.example.com', DNS)).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  });

  it('is another one in another namespace, and for a name of other characters', () => {
    const ids = [namedId('a', DNS), namedId('ä', DNS), namedId('a', '6ba7b811-9dad-11d1-80b4-00c04fd430c8')];
    expect(new Set(ids).size).toBe(3);
  });
});
