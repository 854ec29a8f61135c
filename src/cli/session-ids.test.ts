import type { StoredSession } from 'looprig';
import { describe, expect, it } from 'vitest';
import { findSession, idsThatFit, shortId } from './session-ids.ts';
import { UsageError } from './usage-error.ts';

const IDS = [
  '01a22bab-f2cc-7256-83da-1059d0b78018',
  '01a22bab-f2cd-7111-93da-aaaad0b78018',
  '01a22bac-0000-7111-93da-00000000beef',
];

const SESSIONS: readonly StoredSession[] = IDS.map(sessionId => ({
  sessionId,
  lastSeq: 1,
  createdAt: 0,
  updatedAt: 0,
  place: sessionId,
}));

describe('what is shown of an id', () => {
  it('is its end, of eight characters where that tells it from all others', () => {
    expect(shortId(IDS[2]!, IDS)).toBe('0000beef');
    expect(shortId(IDS[0]!, [])).toBe('d0b78018');
  });

  it('is longer where another id has the same end', () => {
    expect(IDS.slice(0, 2).map(id => shortId(id, IDS))).toEqual(['9d0b78018', 'ad0b78018']);
  });

  it('is nothing that a terminal obeys or a shell runs, whatever a store holds', () => {
    const ids = ['a\u001b[2Jb', 'x$(rm *)y', "it's `it`"];
    expect(ids.map(id => shortId(id, ids))).toEqual(['a??2jb', '??rm???y', 't?s??it?']);
  });
});

describe('a session', () => {
  it.each([
    ['its whole id', '01a22bab-f2cc-7256-83da-1059d0b78018', 0],
    ['its id in capitals and without hyphens', '01A22BABF2CC725683DA1059D0B78018', 0],
    ['what is shown of it', '9d0b78018', 0],
    ['a beginning that no other has', '01a22bab-f2cd', 1],
    ['a short end that no other has', 'f', 2],
    ['"last", where it was written last', 'last', 0],
  ])('is found by %s', (_, given, index) => {
    expect(findSession(given, SESSIONS).sessionId).toBe(IDS[index]);
  });

  it.each([
    ['018', '"018" fits 2 sessions: say which of 9d0b78018, ad0b78018'],
    ['01a2', '"01a2" fits 3 sessions: say which of 9d0b78018, ad0b78018, 0000beef'],
    ['xyz', 'there is no session "xyz": there are 9d0b78018, ad0b78018, 0000beef'],
    ['', 'there is no session "": there are 9d0b78018, ad0b78018, 0000beef'],
    ['-', 'there is no session "-": there are 9d0b78018, ad0b78018, 0000beef'],
  ])('is not found by %j, and the sentence names candidates', (given, message) => {
    expect(() => findSession(given, SESSIONS)).toThrow(new UsageError(message));
  });

  it('is not looked for among none, and of many no more than five are named', () => {
    expect(() => findSession('last', [])).toThrow('there are no sessions yet: "looprig run" begins one');
    const many = Array.from({ length: 9 }, (_, index) => ({ ...SESSIONS[0]!, sessionId: `session-number-${index}` }));
    expect(() => findSession('x', many)).toThrow(/: there are n?number0, .*number4, … \(9 in all\)$/);
  });

  it('whose whole id is the end of another is found by it', () => {
    expect(idsThatFit('beef', ['beef', 'deadbeef'])).toEqual(['beef']);
  });
});
