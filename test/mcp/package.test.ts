/** Without the optional package, and without any of this at all. */
import { expect, it } from 'vitest';
import { sourceFile as entry, runWithout } from '../support/without-package.ts';

const run = (program: string): Promise<string> => runWithout('@modelcontextprotocol/', program);

it('a package that is not installed names itself and how to install it', async () => {
  const told = await run(`
    const { mcpToolset } = await import(${entry('mcp/index.ts')});
    await mcpToolset({ name: 'files', command: 'node' }).catch(error => console.log(error.name, error.kind, error.message));
  `);
  expect(told).toBe(
    'McpError missing_package MCP server "files" needs the package @modelcontextprotocol/client, which is not installed: npm install @modelcontextprotocol/client@2',
  );
});

it('the core asks for nothing of it', async () => {
  const asked = await run(`await import(${entry('index.ts')}); console.log(globalThis.asked.join(' '));`);
  expect(asked).toContain('session/define-rig.ts');
  expect(asked).not.toMatch(/mcp|modelcontextprotocol/);
});

it('a server with a URL needs no platform with processes', async () => {
  const asked = await run(`
    await import(${entry('mcp/index.ts')});
    console.log(globalThis.asked.filter(specifier => specifier.startsWith('node:')).join(' '));
  `);
  expect(asked).toBe('');
});
