import { expect, it } from 'vitest';
import { chatHelp, completions, readChatLine } from './commands.ts';

it.each([
  ['  say it ', { kind: 'text', text: 'say it' }],
  ['//etc', { kind: 'text', text: '/etc' }],
  ['/mode plan', { kind: 'command', name: 'mode', rest: 'plan' }],
  ['/MODE', { kind: 'command', name: 'mode', rest: '' }],
  ['/queue one\ntwo', { kind: 'command', name: 'queue', rest: 'one\ntwo' }],
  ['/nothing to do', { kind: 'unknown', name: 'nothing' }],
  ['/', { kind: 'unknown', name: '' }],
])('%j is read', (line, read) => {
  expect(readChatLine(line)).toEqual(read);
});

it('commands are completed, those that take something with a space after them', () => {
  expect(completions('/q', [])).toEqual(['/queue ', '/quit']);
  expect(completions('/limits', [])).toEqual(['/limits ']);
  expect(completions('q', [])).toEqual([]);
  expect(completions('/queue some', ['something'])).toEqual([]);
});

it('modes are completed after /mode', () => {
  expect(completions('/mode ', ['base', 'plan'])).toEqual(['/mode base', '/mode plan']);
  expect(completions('/mode p', ['base', 'plan'])).toEqual(['/mode plan']);
});

it('help has two columns where there is room for them', () => {
  expect(chatHelp(80)[0]).toBe('/help                this list');
  expect(chatHelp(79).slice(0, 2)).toEqual(['/help ', '    this list']);
  for (const line of chatHelp(80).slice(0, -2)) expect(line.length).toBeLessThan(80);
});
