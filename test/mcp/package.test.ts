/** Without the optional package, and without any of this at all. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const entry = (file: string): string => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href);

/** Makes the package of the protocol's client one that is not installed, and writes down what is asked for. */
const WITHOUT_PACKAGE = `
  import { registerHooks } from 'node:module';
  globalThis.asked = [];
  registerHooks({ resolve(specifier, context, next) {
    globalThis.asked.push(specifier);
    return next(specifier.startsWith('@modelcontextprotocol/') ? specifier + '-not-installed' : specifier, context);
  } });
`;

async function run(program: string): Promise<string> {
  const hooks = `data:text/javascript,${encodeURIComponent(WITHOUT_PACKAGE)}`;
  const args = ['--import', hooks, '--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
  });
  return stdout.trim();
}

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
