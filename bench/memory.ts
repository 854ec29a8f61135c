/**
 * What a long session keeps in memory: 10,000 steps, each with a result of 1 MB, on SQLite. Run by `npm run bench:memory`; prints the
 * memory above start, with what it is used for. A tenth of the steps are measured apart, so that what grows is seen.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';

const STEPS = Number(process.env.STEPS ?? 10_000);
/** What a model would be shown of each result: the rest is kept beside the journal. */
const RESULT_BYTES = 4_096;
/** Different results: the store keeps each once. */
const KINDS = 50;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let step = 0;
const model = {
  specificationVersion: 'v4' as const,
  provider: 'bench',
  modelId: 'memory',
  supportedUrls: {},
  async doGenerate() {
    const n = step++;
    const warnings: never[] = [];
    if (n >= STEPS) {
      const content = [{ type: 'text' as const, text: 'done' }];
      return { content, finishReason: { unified: 'stop' as const, raw: 'stop' }, usage, warnings };
    }
    if (n % (STEPS / 10) === 0) report(n);
    const call = { type: 'tool-call' as const, toolCallId: `c${n}`, toolName: 'large', input: `{"n":${n}}` };
    return { content: [call], finishReason: { unified: 'tool-calls' as const, raw: 'tool_use' }, usage, warnings };
  },
  async doStream(): Promise<never> {
    throw new Error('this benchmark does not stream');
  },
};

const large = defineTool({
  name: 'large',
  description: 'Gives a megabyte.',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  execute: ({ n }) => `${n % KINDS} `.repeat(1_000_000).slice(0, 1_000_000),
});

let start: NodeJS.MemoryUsage | undefined;

function report(steps: number): void {
  globalThis.gc?.();
  const now = process.memoryUsage();
  start ??= now;
  const above = (name: 'rss' | 'heapUsed' | 'external'): string => ((now[name] - start![name]) / 1_048_576).toFixed(1);
  console.log(
    `${String(steps).padStart(6)} steps: rss +${above('rss')} MB, heap +${above('heapUsed')} MB, external +${above('external')} MB`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'looprig-memory-'));
try {
  const store = sqliteStore({ file: join(folder, 'store.db') });
  const loop = defineLoop({
    ...{ name: 'memory', model, tools: [large], stream: false, repeat: false },
    limits: { iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY, resultBytes: RESULT_BYTES },
  });
  const session = await defineRig({ loops: [loop], store }).open();
  const { calls } = await session.run('go');
  report(calls);
  await session.close();
  await store.close?.();
} finally {
  rmSync(folder, { recursive: true });
}
