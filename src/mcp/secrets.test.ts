import { expect, it } from 'vitest';
import { resolveOptions } from './options.ts';
import { hiderOf, shownEndpoint } from './secrets.ts';

const endpointOf = (options: Parameters<typeof resolveOptions>[0]) => resolveOptions(options).endpoint;

it('values of the environment are hidden, longer ones first, and short ones are no secrets', () => {
  const hide = hiderOf(endpointOf({ name: 'a', command: 'x', env: { A: 'secret', B: 'secret-more', C: 'en' } }));
  expect(hide('secret-more, secret, and en')).toBe('[hidden], [hidden], and en');
});

it('values of headers are hidden, without their first word too', () => {
  const hide = hiderOf(endpointOf({ name: 'a', url: 'http://x', headers: { Authorization: 'Bearer abc-123' } }));
  expect(hide('"Bearer abc-123", abc-123')).toBe('"[hidden]", [hidden]');
});

it('a command is shown with its arguments, but for those that are secrets by their names', () => {
  const args = ['--api-key=k', '--token', 'tok-12345', '--verbose', '--password', '--x', 'y z', 'DB_PASSWORD=pw'];
  expect(shownEndpoint(endpointOf({ name: 'a', command: 'x', args }))).toBe(
    'x --api-key=[hidden] --token [hidden] --verbose --password --x "y z" DB_PASSWORD=[hidden]',
  );
});

it('an address is shown without what may be secret in it', () => {
  const endpoint = endpointOf({ name: 'a', url: 'https://user:pass@example.com/mcp?key=k-12345#part' });
  expect(shownEndpoint(endpoint)).toBe('https://example.com/mcp');
  expect(hiderOf(endpoint)('with k-12345')).toBe('with [hidden]');
});
