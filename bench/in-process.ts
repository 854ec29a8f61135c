/**
 * What a step and a call cost, in this process, beside the bare loop (call the model, `Promise.all` over checked calls, push). Run by
 * `npm run bench`; prints a table. Compare the ratios: machines differ, and this one may be shared.
 */
import { performance } from 'node:perf_hooks';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { z } from 'zod';

type Model = Parameters<typeof defineLoop>[0]['model'];

const schema = z.object({ n: z.number() });
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

interface Call {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: 'add';
  readonly input: string;
}

/** A model that asks for `width` calls in each of `steps` steps, then answers. It answers at once. */
function quickModel(steps: number, width: number) {
  let step = 0;
  let id = 0;
  return {
    specificationVersion: 'v4' as const,
    provider: 'bench',
    modelId: 'quick',
    supportedUrls: {},
    async doGenerate() {
      if (step++ >= steps) {
        return {
          content: [{ type: 'text' as const, text: 'done' }],
          finishReason: { unified: 'stop' as const, raw: 'stop' },
          usage,
          warnings: [],
        };
      }
      const content: Call[] = [];
      for (let index = 0; index < width; index++) {
        content.push({ type: 'tool-call', toolCallId: `c${id}`, toolName: 'add', input: `{"n":${id++}}` });
      }
      return { content, finishReason: { unified: 'tool-calls' as const, raw: 'tool_use' }, usage, warnings: [] };
    },
    async doStream(): Promise<never> {
      throw new Error('this benchmark does not stream');
    },
  };
}

async function bare(steps: number, width: number): Promise<void> {
  const model = quickModel(steps, width);
  const messages: unknown[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
  for (;;) {
    const { content } = await model.doGenerate();
    messages.push({ role: 'assistant', content });
    const calls = content.filter(part => part.type === 'tool-call');
    if (calls.length === 0) return;
    const results = await Promise.all(
      calls.map(async call => {
        const { n } = schema.parse(JSON.parse(call.input));
        return { type: 'tool-result', toolCallId: call.toolCallId, output: { type: 'text', value: String(n + 1) } };
      }),
    );
    messages.push({ role: 'tool', content: results });
  }
}

async function looprig(steps: number, width: number): Promise<void> {
  const add = defineTool({
    name: 'add',
    description: 'Adds one.',
    input: schema,
    execute: async ({ n }) => String(n + 1),
  });
  const limits = { iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY, parallel: width };
  const model: Model = quickModel(steps, width);
  const loop = defineLoop({ name: 'bench', model, tools: [add], limits, stream: false });
  const session = await defineRig({ loops: [loop] }).open();
  await session.run('go');
  await session.close();
}

/** Microseconds of one run, the best and the median of some, with warm-up. */
async function measure(run: () => Promise<void>, rounds: number): Promise<{ median: number; least: number }> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    globalThis.gc?.();
    const start = performance.now();
    await run();
    times.push((performance.now() - start) * 1_000);
  }
  times.sort((a, b) => a - b);
  return { median: times[Math.floor(times.length / 2)]!, least: times[0]! };
}

const workloads = [
  { name: 'W1: a step of one call, 10 steps', steps: 10, width: 1, rounds: 200, per: 10 },
  { name: 'W1: a step of one call, 100 steps', steps: 100, width: 1, rounds: 60, per: 100 },
  { name: 'W1: a step of one call, 1,000 steps', steps: 1_000, width: 1, rounds: 20, per: 1_000 },
  { name: 'W2: a call in batches of 100, 10 steps', steps: 10, width: 100, rounds: 30, per: 1_000 },
];

for (let warmUp = 0; warmUp < 20; warmUp++) {
  await looprig(100, 1);
  await looprig(2, 100);
  await bare(100, 1);
  await bare(2, 100);
}
console.log(`Node ${process.versions.node}; microseconds for one step (W1) or one call (W2): median (least)\n`);
console.log('| workload | looprig | bare loop | ratio of medians |\n| --- | --: | --: | --: |');
for (const { name, steps, width, rounds, per } of workloads) {
  const ours = await measure(() => looprig(steps, width), rounds);
  const theirs = await measure(() => bare(steps, width), rounds);
  const cell = ({ median, least }: { median: number; least: number }): string =>
    `${(median / per).toFixed(2)} (${(least / per).toFixed(2)})`;
  console.log(`| ${name} | ${cell(ours)} | ${cell(theirs)} | ${(ours.median / theirs.median).toFixed(1)} |`);
}
