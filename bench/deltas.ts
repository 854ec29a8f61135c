/** What 20,000 one-token deltas cost, beside reading the model's stream bare, part by part. Part of `npm run bench`. */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { defineLoop, defineRig, type Turn } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { spreadOf } from './statistics.ts';

type Model = Exclude<Parameters<typeof defineLoop>[0]['model'], string>;
type V4 = Extract<Model, { specificationVersion: 'v4' }>;
type Part = Awaited<ReturnType<V4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

const COUNT = 20_000;
const deltas = Array.from({ length: COUNT }, (_, index) => ` w${index}`);
const length = deltas.join('').length;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: COUNT, text: COUNT, reasoning: 0 },
};
const parts: readonly Part[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  ...deltas.map(delta => ({ type: 'text-delta' as const, id: '0', delta })),
  { type: 'text-end', id: '0' },
  { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
];

function pulled(): ReadableStream<Part> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

function streaming(stream: () => ReadableStream<Part>): V4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'talker',
    supportedUrls: {},
    doStream: async () => ({ stream: stream() }),
    doGenerate: () => Promise.reject(new Error('this benchmark streams')),
  };
}

/** The streams that a model may give, from the cheapest to read to that of the provider packages. */
const models: Readonly<Record<string, () => V4>> = {
  'enqueued before it is read': () =>
    streaming(
      () =>
        new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
    ),
  'pulled part by part': () => streaming(pulled),
  'of `scriptedModel`': () => scriptedModel([{ deltas }], { record: false }),
  'through a TransformStream': () =>
    streaming(() =>
      pulled().pipeThrough(new TransformStream({ transform: (part, controller) => controller.enqueue(part) })),
    ),
};

/** Milliseconds that one run took. */
type Program = (model: V4) => Promise<number>;

const bare: Program = async model => {
  const start = performance.now();
  const { stream } = await model.doStream({ prompt: [] });
  const reader = stream.getReader();
  let text = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (next.value.type === 'text-delta') text += next.value.delta;
  }
  requireLength(text);
  return performance.now() - start;
};

/** A turn, from its submission to its result, with what reads it. */
function turnWith(read: (turn: Turn) => readonly Promise<number>[]): Program {
  return async model => {
    const session = await defineRig({ loops: [defineLoop({ name: 'bench', model })] }).open();
    const start = performance.now();
    const turn = session.submit('go');
    const counts = await Promise.all(read(turn));
    const result = await turn.result;
    const time = performance.now() - start;
    requireLength(result.text);
    if (counts.some(count => count !== COUNT)) throw new Error(`a reader got ${counts} deltas`);
    await session.close();
    return time;
  };
}

async function count(turn: Turn): Promise<number> {
  let seen = 0;
  for await (const event of turn) if (event.type === 'text.delta') seen++;
  return seen;
}

const programs: Readonly<Record<string, Program>> = {
  bare,
  'no reader': turnWith(() => []),
  'one reader': turnWith(turn => [count(turn)]),
  'two readers': turnWith(turn => [count(turn), count(turn)]),
  'a reader that stands still': turnWith(turn => {
    turn.subscribe();
    return [];
  }),
};

function requireLength(text: string): void {
  if (text.length !== length) throw new Error(`the text has ${text.length} characters, not ${length}`);
}

/** Prints the table of W5. Programs take turns, run by run, and garbage is collected before each round of them. */
export async function measureDeltas(rounds: number): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const names = Object.keys(programs);
  console.log(`\nMilliseconds for ${COUNT} deltas (W5): median (least), and the ratios of both to the bare stream's\n`);
  console.log(`| stream | ${names.join(' | ')} |\n| --- |${' --: |'.repeat(names.length)}`);
  for (const [stream, model] of Object.entries(models)) {
    const times = names.map((): number[] => []);
    for (let round = -15; round < rounds; round++) {
      collectGarbage();
      for (const [index, program] of Object.values(programs).entries()) {
        const time = await program(model());
        if (round >= 0) times[index]?.push(time);
      }
    }
    console.log(`| ${stream} | ${cells(times).join(' | ')} |`);
  }
}

function cells(times: readonly number[][]): string[] {
  const figures = times.map(list => spreadOf(list));
  const [base] = figures;
  return figures.map(figure => {
    if (figure === undefined) return '';
    const { median, least } = figure;
    const time = `${median.toFixed(1)} (${least.toFixed(1)})`;
    if (base === undefined || median === base.median) return time;
    return `${time}: ${(median / base.median).toFixed(2)} (${(least / base.least).toFixed(2)})`;
  });
}
