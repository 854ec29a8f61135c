import { expect, it } from 'vitest';
import { parseMcpServer } from './server-text.ts';

it.each([
  [
    'npx -y @modelcontextprotocol/server-filesystem .',
    'server-filesystem',
    'npx',
    ['-y', '@modelcontextprotocol/server-filesystem', '.'],
  ],
  ['npx some-server@1.2.3 --flag', 'some-server', 'npx', ['some-server@1.2.3', '--flag']],
  ['node dist/my-server.js', 'my-server', 'node', ['dist/my-server.js']],
  ['docker run -i image/name:tag', 'name-tag', 'docker', ['run', '-i', 'image/name:tag']],
  ['/usr/bin/my_server', 'my_server', '/usr/bin/my_server', []],
  [`  "a program" 'it''s' one\\ word "say \\"so\\"" ''`, 'a-program', 'a program', ['its', 'one word', 'say "so"', '']],
  ['node ./node_modules/my-server/dist/index.js', 'my-server', 'node', ['./node_modules/my-server/dist/index.js']],
  ['node index.js', 'index', 'node', ['index.js']],
  ['npx', 'npx', 'npx', []],
])('%s is a command', (line, name, command, args) => {
  expect(parseMcpServer(line)).toEqual({ name, command, args });
});

it.each([
  ['https://mcp.example.com/sse?x=1', 'mcp.example.com'],
  ['http://localhost:3001/mcp', 'localhost-3001'],
])('%s is an address', (url, name) => {
  expect(parseMcpServer(url)).toEqual({ name, url });
});

it.each([
  ['  ', 'the MCP server is empty: give an http(s) address, or a command'],
  ['node "x', 'the MCP server has a quote " that is not closed: give an http(s) address, or a command'],
  ['http://', 'the MCP server is no address: give an http(s) address, or a command'],
])('%j is refused in one sentence', (line, message) => {
  expect(() => parseMcpServer(line)).toThrow(message);
});
