/**
 * What durability costs: the SQLite store beside bare commits of the same text. Run by `npm run bench:sqlite`; prints tables. All is
 * measured in turns, round by round, since the disk of a shared machine is never the same twice: compare ratios of one run.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { defineLoop, defineRig, defineTool, type JournalRecord, type JournalStore } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { z } from 'zod';

const folder = mkdtempSync(join(tmpdir(), 'looprig-bench-'));
const freshFile = (): string => join(folder, `${crypto.randomUUID()}.db`);

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 };

/** The two appends of one step of one call, as a session makes them. */
function stepRecords(seq: number, turnId: string): [JournalRecord[], JournalRecord[]] {
  const at = Date.now();
  const step = { turnId, stepId: crypto.randomUUID(), at };
  const call = { ...step, callId: `call-${seq}`, toolName: 'add' };
  const content = [{ type: 'tool-call' as const, toolCallId: call.callId, toolName: 'add', input: { n: seq } }];
  const finishReason = { unified: 'tool-calls' as const, raw: 'tool_use' };
  return [
    [
      { type: 'step.responded', ...step, message: { role: 'assistant', content }, finishReason, usage, seq: seq + 1 },
      { type: 'tool.called', ...call, seq: seq + 2 },
      { type: 'tool.started', ...call, seq: seq + 3 },
    ],
    [
      {
        type: 'tool.completed',
        ...call,
        outcome: 'done',
        output: { type: 'text', value: String(seq + 1) },
        durationMs: 0,
        seq: seq + 4,
      },
      { type: 'step.done', ...step, seq: seq + 5 },
      { type: 'step.started', ...step, stepId: crypto.randomUUID(), step: seq, seq: seq + 6 },
    ],
  ];
}

type Synchronous = 'full' | 'normal';

/** Something that appends text or records, one append at a time a session. */
interface Appender {
  append(session: number, expectedSeq: number, records: readonly JournalRecord[]): Promise<void>;
  close(): Promise<void>;
}

/** The floor: in this thread, one table, JSON, no check of anything; what arrives in one tick shares a transaction. */
function bareAppender(synchronous: Synchronous): Appender {
  const database = new DatabaseSync(freshFile());
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
  database.exec('CREATE TABLE append (id INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, text TEXT)');
  const insert = database.prepare('INSERT INTO append (session, seq, text) VALUES (?, ?, ?)');
  let waiting: { session: number; seq: number; text: string; done: () => void }[] = [];
  const commit = (): void => {
    const group = waiting;
    waiting = [];
    database.exec('BEGIN IMMEDIATE');
    for (const { session, seq, text } of group) insert.run(session, seq, text);
    database.exec('COMMIT');
    for (const { done } of group) done();
  };
  return {
    append: (session, seq, records) =>
      new Promise(done => {
        if (waiting.length === 0) setImmediate(commit);
        waiting.push({ session, seq, text: JSON.stringify(records), done });
      }),
    close: async () => database.close(),
  };
}

function storeAppender(synchronous: Synchronous, thread: boolean): Appender {
  const store = sqliteStore({ file: freshFile(), thread, synchronous });
  return {
    append: async (session, seq, records) => store.append(`session-${session}`, seq, records),
    close: () => store.close(),
  };
}

/** Steps a second. */
async function rateOf(appender: Appender, sessions: number, steps: number): Promise<number> {
  const work = async (session: number): Promise<void> => {
    for (let step = 0; step < steps; step++) {
      const [asked, answered] = stepRecords(step * 6, `turn-${session}`);
      await appender.append(session, step * 6, asked);
      await appender.append(session, step * 6 + 3, answered);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: sessions }, (_, session) => work(session)));
  const seconds = (performance.now() - start) / 1_000;
  await appender.close();
  return (sessions * steps) / seconds;
}

/** How long this thread is kept from other work meanwhile, in milliseconds, at the 99th percentile. Measured apart: to look every millisecond changes the rate. */
async function delayOf(appender: Appender, sessions: number, steps: number): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await rateOf(appender, sessions, steps);
  delay.disable();
  return delay.percentile(99) / 1e6;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

const appenders = (synchronous: Synchronous): readonly (readonly [name: string, make: () => Appender])[] => [
  ['bare commits', () => bareAppender(synchronous)],
  ['sqliteStore', () => storeAppender(synchronous, false)],
  ['sqliteStore with a thread', () => storeAppender(synchronous, true)],
];

async function compare(synchronous: Synchronous, sessions: number, steps: number, rounds: number): Promise<void> {
  const compared = appenders(synchronous);
  const rates: number[][] = compared.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, make]] of compared.entries()) rates[index]?.push(await rateOf(make(), sessions, steps));
  }
  console.log(`${synchronous}, ${sessions} session${sessions === 1 ? '' : 's'}, ${steps} steps of two appends each:`);
  for (const [index, [name, make]] of compared.entries()) {
    const own = rates[index] ?? [];
    const most = Math.max(...own);
    const each = sessions === 1 ? `, ${whole(1e6 / median(own))} (least ${whole(1e6 / most)}) µs a step` : '';
    const ratios = own.map((rate, round) => (rates[0]?.[round] ?? 0) / rate);
    const delay = (await delayOf(make(), sessions, steps)).toFixed(1);
    console.log(
      `  ${name}: ${whole(median(own))} (most ${whole(most)}) steps/s${each}; ${median(ratios).toFixed(2)} times bare; p99 delay ${delay} ms`,
    );
  }
}

/** A model that asks for one call in each of `steps` steps, then answers. */
function quickModel(steps: number) {
  let step = 0;
  const counted = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  const told = { inputTokens: counted, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const finish = (unified: 'stop' | 'tool-calls') => ({
    finishReason: { unified, raw: unified },
    usage: told,
    warnings: [],
  });
  return {
    specificationVersion: 'v4' as const,
    provider: 'bench',
    modelId: 'quick',
    supportedUrls: {},
    async doGenerate() {
      step += 1;
      if (step > steps) return { content: [{ type: 'text' as const, text: 'done' }], ...finish('stop') };
      const call = { type: 'tool-call' as const, toolCallId: `c${step}`, toolName: 'add', input: `{"n":${step}}` };
      return { content: [call], ...finish('tool-calls') };
    },
    async doStream(): Promise<never> {
      throw new Error('this benchmark does not stream');
    },
  };
}

const add = defineTool({
  name: 'add',
  description: 'Adds one.',
  input: z.object({ n: z.number() }),
  execute: async ({ n }) => String(n + 1),
});

function rigOf(store: JournalStore, steps: number) {
  const limits = { iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY };
  const loop = defineLoop({ name: 'bench', model: quickModel(steps), tools: [add], limits, stream: false });
  return defineRig({ loops: [loop], store });
}

/** Whole turns of the loop over the store. */
async function turns(
  sessions: number,
  steps: number,
  options: { readonly thread?: boolean; readonly synchronous?: Synchronous } = {},
): Promise<{ rate: number; file: string; sessionId: string }> {
  const file = freshFile();
  const store = sqliteStore({ file, ...options });
  const opened = await Promise.all(Array.from({ length: sessions }, () => rigOf(store, steps).open()));
  const start = performance.now();
  await Promise.all(opened.map(session => session.run('go')));
  const seconds = (performance.now() - start) / 1_000;
  await Promise.all(opened.map(session => session.close()));
  await store.close();
  return { rate: (sessions * steps) / seconds, file, sessionId: opened[0]?.id ?? '' };
}

async function opening(file: string, sessionId: string): Promise<{ cold: number; warm: number }> {
  const store = sqliteStore({ file });
  const rig = rigOf(store, 1);
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const session = await rig.open({ sessionId });
    times.push(performance.now() - start);
    await session.close();
  }
  await store.close();
  return { cold: times[0] ?? 0, warm: median(times.slice(1)) };
}

await compare('full', 1, 300, 7);
await compare('full', 50, 200, 7);
await compare('normal', 1, 300, 7);

const WHOLE: readonly (readonly [sessions: number, synchronous: Synchronous, thread: boolean])[] = [
  [1, 'normal', false],
  [1, 'full', false],
  [1, 'full', true],
  [50, 'full', false],
  [50, 'full', true],
];
for (const [sessions, synchronous, thread] of WHOLE) {
  const rates: number[] = [];
  for (let round = 0; round < 7; round++) rates.push((await turns(sessions, 200, { thread, synchronous })).rate);
  const most = Math.max(...rates);
  const each = sessions === 1 ? `, ${whole(1e6 / median(rates))} (least ${whole(1e6 / most)}) µs a step` : '';
  console.log(
    `the whole loop, ${synchronous}, ${sessions} x 200 steps${thread ? ', with a thread' : ''}: ${whole(median(rates))} (most ${whole(most)}) steps/s${each}`,
  );
}

for (const steps of [10, 100, 1_000]) {
  const { file, sessionId } = await turns(1, steps);
  const { cold, warm } = await opening(file, sessionId);
  const bytes = statSync(file).size;
  console.log(
    `a session of ${steps} steps: ${whole(bytes)} bytes, opened in ${warm.toFixed(1)} ms (${cold.toFixed(1)} ms with the file)`,
  );
}
rmSync(folder, { recursive: true, force: true });
