import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^looprig$/, replacement: source('index.ts') },
      { find: /^looprig\/store$/, replacement: source('journal/index.ts') },
      { find: /^looprig\/(postgres|sqlite)$/, replacement: source('journal/$1/index.ts') },
      { find: /^looprig\/(pg-boss|restate)$/, replacement: source('engines/$1/index.ts') },
      { find: /^looprig\/([\w/-]+)$/, replacement: source('$1/index.ts') },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  test: {
    css: true, // a report holds its style sheet
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    maxWorkers: Math.max(2, availableParallelism() - 1), // many tests wait for processes and clocks, and leave a core idle
    testTimeout: 20_000,
    hookTimeout: 60_000, // servers of other people are started in hooks
    reporters: ['default', './scripts/closing-line-reporter.ts'],
  },
});
