import { expect, it } from 'vitest';
import { DefinitionError } from '../errors.ts';
import { type McpToolsetOptions, resolveOptions } from './options.ts';

const start = { name: 'a', command: 'node' };

it('what is not given has its default', () => {
  expect(resolveOptions(start)).toMatchObject({
    name: 'a',
    endpoint: { start: { command: 'node', args: [], env: {}, cwd: undefined, graceMs: 1_000 } },
    prefix: '',
    include: undefined,
    exclude: [],
    timeoutMs: undefined,
    connectTimeoutMs: 30_000,
    shared: false,
    maxTools: 128,
    maxMessageBytes: 33_554_432,
    trustAnnotations: true,
    passMedia: [],
    elicit: undefined,
  });
  const web = resolveOptions({ name: 'a', url: 'https://example.com/mcp', prefix: true });
  expect(web).toMatchObject({ endpoint: { url: new URL('https://example.com/mcp'), headers: {} }, prefix: 'a_' });
});

it('what the caller does to its options later changes nothing', () => {
  const args = ['one'];
  const env = { A: '1' };
  const { endpoint } = resolveOptions({ ...start, args, env });
  args.push('two');
  env.A = '2';
  expect(endpoint.start).toMatchObject({ args: ['one'], env: { A: '1' } });
});

it.each<[string, unknown, string]>([
  ['nothing', undefined, 'an MCP server must be given as an object, not undefined'],
  ['no name', { command: 'x' }, 'name must be letters, digits, ".", "_" and "-", at most 64 of them, not undefined'],
  [
    'a name with a slash',
    { name: 'a/b', command: 'x' },
    'name must be letters, digits, ".", "_" and "-", at most 64 of them, not "a/b"',
  ],
  [
    'neither command nor url',
    { name: 'a' },
    'an MCP server has either a "command" that starts it or a "url" where it is',
  ],
  [
    'both',
    { name: 'a', command: 'x', url: 'http://x' },
    'an MCP server has either a "command" that starts it or a "url" where it is',
  ],
  ['headers of a command', { ...start, headers: {} }, '"headers" goes with "url", which is not given'],
  ['env of a url', { name: 'a', url: 'http://x', env: {} }, '"env" goes with "command", which is not given'],
  [
    'an unknown option',
    { ...start, timeout: 1 },
    expect.stringContaining('an MCP server has no option "timeout": it takes name, '),
  ],
  ['an empty command', { name: 'a', command: ' ' }, 'command must be a nonblank string, not " "'],
  ['args that are text', { ...start, args: '-y x' }, 'args must be a list of strings, not "-y x"'],
  ['a number in env', { ...start, env: { A: 1 } }, 'env.A must be a string, not number'],
  ['a file as url', { name: 'a', url: 'file:///secret' }, 'url must be an http: or https: address'],
  ['no address at all', { name: 'a', url: 'secret' }, 'url must be an http: or https: address'],
  [
    'a prefix that providers refuse',
    { ...start, prefix: 'a b' },
    'prefix must be true, or letters, digits, ".", "_" and "-", at most 32 of them, not "a b"',
  ],
  ['a time of nothing', { ...start, timeoutMs: 0 }, 'timeoutMs must be a whole number from 1 to 2147483647, not 0'],
  [
    'a time too long',
    { ...start, connectTimeoutMs: 2 ** 31 },
    'connectTimeoutMs must be a whole number from 1 to 2147483647, not 2147483648',
  ],
  ['a flag that is text', { ...start, shared: 'yes' }, 'shared must be true or false, not "yes"'],
  ['a listener that is none', { ...start, onNotice: {} }, 'onNotice must be a function, not an object'],
])('%s is refused in one sentence', (_what, options, message) => {
  let thrown: unknown;
  try {
    resolveOptions(options as McpToolsetOptions);
  } catch (error) {
    thrown = error;
  }
  expect(DefinitionError.is(thrown)).toBe(true);
  expect(thrown).toMatchObject({ kind: 'invalid_option', message });
});

it('a listener that throws changes nothing', () => {
  const { notify } = resolveOptions({
    ...start,
    onNotice: () => {
      throw new Error('mine');
    },
  });
  expect(() => notify({ kind: 'tool_added', message: 'x' })).not.toThrow();
});
