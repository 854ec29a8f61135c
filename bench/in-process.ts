/**
 * What a step and a call cost, in this process, beside the bare loop (call the model, `Promise.all` over checked calls, push). Run by
 * `npm run bench`; prints a table. Compare the ratios: machines differ, and this one may be shared.
 */
import { performance } from 'node:perf_hooks';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { z } from 'zod';
import { measureDeltas } from './deltas.ts';
import { type Spread, spreadOf } from './statistics.ts';

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

const add = defineTool({
  name: 'add',
  description: 'Adds one.',
  input: schema,
  execute: async ({ n }) => String(n + 1),
});

function openSession(steps: number, width: number) {
  const limits = { iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY, parallel: width };
  const model: Model = quickModel(steps, width);
  const loop = defineLoop({ name: 'bench', model, tools: [add], limits, stream: false });
  return defineRig({ loops: [loop] }).open();
}

/** Microseconds that one run took. */
type Timed = (steps: number, width: number) => Promise<number>;

/** The turn alone: defining a loop and opening a session are measured apart. */
const looprigTurn: Timed = async (steps, width) => {
  const session = await openSession(steps, width);
  const start = performance.now();
  await session.run('go');
  const time = performance.now() - start;
  await session.close();
  return time * 1_000;
};

const bareLoop: Timed = async (steps, width) => {
  const start = performance.now();
  await bare(steps, width);
  return (performance.now() - start) * 1_000;
};

const opening: Timed = async (steps, width) => {
  const start = performance.now();
  const session = await openSession(steps, width);
  const time = performance.now() - start;
  await session.close();
  return time * 1_000;
};

/**
 * How long some rounds took; the two programs take turns, so that both meet the same machine. Garbage is
 * collected when the platform thinks fit: it is part of the cost.
 */
async function compare(
  programs: readonly Timed[],
  { steps, width, rounds, runs }: (typeof workloads)[number],
): Promise<readonly (Spread | undefined)[]> {
  const times: number[][] = programs.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, program] of programs.entries()) {
      let sum = 0;
      for (let run = 0; run < runs; run++) sum += await program(steps, width);
      times[index]?.push(sum / runs);
    }
  }
  return times.map(spreadOf);
}

const workloads = [
  { name: 'W1: a step of one call, 10 steps', steps: 10, width: 1, rounds: 20, runs: 100, per: 10 },
  { name: 'W1: a step of one call, 100 steps', steps: 100, width: 1, rounds: 20, runs: 10, per: 100 },
  { name: 'W1: a step of one call, 1,000 steps', steps: 1_000, width: 1, rounds: 30, runs: 2, per: 1_000 },
  { name: 'W2: a call in batches of 100, 10 steps', steps: 10, width: 100, rounds: 30, runs: 4, per: 1_000 },
];

for (let warmUp = 0; warmUp < 100; warmUp++) {
  for (const program of [looprigTurn, bareLoop]) {
    await program(100, 1);
    await program(2, 100);
  }
}
console.log(`Node ${process.versions.node}; microseconds for one step (W1) or one call (W2): median (least)\n`);
console.log('| workload | looprig | bare loop | ratio of medians |\n| --- | --: | --: | --: |');
for (const workload of workloads) {
  const [ours, theirs] = await compare([looprigTurn, bareLoop], workload);
  if (ours === undefined || theirs === undefined) continue;
  const cell = ({ median, least }: Spread): string =>
    `${(median / workload.per).toFixed(2)} (${(least / workload.per).toFixed(2)})`;
  console.log(`| ${workload.name} | ${cell(ours)} | ${cell(theirs)} | ${(ours.median / theirs.median).toFixed(1)} |`);
}
const [open] = await compare([opening], { name: 'open', steps: 1, width: 1, rounds: 20, runs: 50, per: 1 });
console.log(
  `\nDefining a loop of one tool and opening a session: ${open?.median.toFixed(0)} (${open?.least.toFixed(0)})`,
);
await measureDeltas(60);
