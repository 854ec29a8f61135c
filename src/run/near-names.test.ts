import { describe, expect, it } from 'vitest';
import { nearNames } from './near-names.ts';

const NAMES = ['read_file', 'write_file', 'list_files', 'run_command', 'search_text', 'edit_file', 'send_mail'];

describe('near names', () => {
  it.each([
    ['readFile', 'read_file'],
    ['READ_FILE', 'read_file'],
    ['files.list', 'list_files'],
    ['functions.run_command', 'run_command'],
    ['search', 'search_text'],
  ])('of %s begin with %s', (name, nearest) => {
    expect(nearNames(name, NAMES)[0]).toBe(nearest);
  });

  it('are at most five, the nearest first, and those that share too little are left out', () => {
    expect(nearNames('file', NAMES)).toEqual(['read_file', 'edit_file', 'write_file', 'list_files']);
    expect(nearNames('x', NAMES)).toEqual(NAMES.slice(0, 5));
  });

  it.each(['', '🙂', '__proto__', 'constructor', 'x'.repeat(1_000_000)])('are found for any name (%.20s)', name => {
    expect(nearNames(name, NAMES).length).toBeGreaterThan(0);
    expect(nearNames(name, [])).toEqual([]);
  });
});
