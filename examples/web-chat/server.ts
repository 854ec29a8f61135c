/**
 * A chat in a browser: a session for each page, whose tools ask before they book anything.
 * `node examples/web-chat/server.ts [PORT]`, after `npm run build` and `npm run services`, which brings React and a bundler.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { anthropic } from '@ai-sdk/anthropic';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { listen } from 'looprig/server';
import { forever, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const free = defineTool({
  name: 'free_tables',
  description: 'Which tables are free.',
  input: z.object({ day: z.string() }),
  execute: ({ day }) => ({ day, tables: ['by the window', 'in the yard'] }),
});

const book = defineTool({
  name: 'book',
  description: 'Books a table.',
  input: z.object({ day: z.string(), table: z.string() }),
  create: () => ({
    access: ({ day, table }) => [{ action: 'table.book', target: `${day}: ${table}` }],
    summary: ({ day, table }) => `book the table ${table} for ${day}`, // the question on the page
    execute: ({ day, table }) => `booked: ${table}, ${day}`,
  }),
});

/** Plays the model without a key: whatever is said, it looks for a table on Friday, books it, and says so. */
const rehearsal = scriptedModel(
  forever(({ prompt }) => {
    const since = prompt.slice(prompt.findLastIndex(({ role }) => role === 'user'));
    if (since.length === 1) return { text: 'I look.', calls: [{ tool: 'free_tables', input: { day: 'Friday' } }] };
    if (since.length === 3) return { calls: [{ tool: 'book', input: { day: 'Friday', table: 'in the yard' } }] };
    const isBooked = JSON.stringify(since).includes('booked: ');
    return { text: isBooked ? 'The table in the yard is yours.' : 'Then I book nothing.', deltas: 5 };
  }),
);

const waiter = defineLoop({
  name: 'waiter',
  model: process.env.ANTHROPIC_API_KEY ? anthropic('claude-sonnet-4-5') : rehearsal,
  system: 'You book tables for guests of a restaurant.',
  tools: [free, book],
  limits: { iterations: 10, calls: 20, turnTimeoutMs: 120_000 },
});

/** The page as two files. In a project of yours, your own bundler does this, and your own server may serve them. */
async function page(): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> {
  const services = createRequire(join(import.meta.dirname, '../../test/services/package.json'));
  const { buildSync } = services('esbuild');
  const { outputFiles } = buildSync({
    stdin: {
      contents: await readFile(join(import.meta.dirname, 'page.tsx'), 'utf8'),
      loader: 'tsx',
      resolveDir: join(import.meta.dirname, '../../test/services'),
    },
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfigRaw: '{}',
  });
  return new Map([
    ['index.html', new Uint8Array(await readFile(join(import.meta.dirname, 'index.html')))],
    ['page.js', outputFiles[0].contents],
  ]);
}

// What is asked waits in the journal: a page that is loaded again finds its open question. A store that is kept is `sqliteStore`.
const rig = defineRig({ loops: [waiter], gate: { ask: true } });
const server = await listen(rig, { port: Number(process.argv[2] ?? 0), files: await page() });
console.log(server.url);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close({ graceMs: 5_000 }));
