/**
 * One measurement of the guard, in a process of its own: `node guard-child.ts <task as JSON>`. What is counted hardly depends
 * on how busy the machine is: bytes allocated, promises made, modules loaded, the least of many short times. The figure goes to the parent as a message.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GCProfiler, promiseHooks } from 'node:v8';

/** What to count, of `looprig` as `entry` gives it. */
export interface Task {
  readonly count: 'import' | 'work' | 'time';
  readonly entry: string;
  /** Of `import`: whether a turn is run as well. */
  readonly turn?: boolean;
  /** Of `work`. */
  readonly work?: WorkName;
  /** Of `work`: make it worse, so that the guard itself can be tested; the journal's end is copied at every append. */
  readonly slip?: boolean;
}

/** What one measurement counts. */
export interface Counts {
  readonly [what: string]: number;
}

type Looprig = typeof import('looprig');
type Store = ReturnType<Looprig['memoryStore']>;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = (unified: 'stop' | 'tool-calls') => ({ finishReason: { unified, raw: unified }, usage });

/** What the model says: in each of `steps` steps `width` calls, then `deltas` deltas. */
interface Script {
  readonly steps: number;
  readonly width: number;
  readonly deltas: number;
  readonly stream?: boolean;
}

/** A model that answers at once, whole or as a stream of the same. */
function quickModel({ steps, width, deltas }: Script) {
  let step = 0;
  const contentOf = () => {
    step += 1;
    if (step > steps) return undefined;
    return Array.from({ length: width }, (_, index) => {
      const n = step * width + index;
      return { type: 'tool-call' as const, toolCallId: `c${n}`, toolName: 'add', input: `{"n":${n}}` };
    });
  };
  return {
    ...{ specificationVersion: 'v4' as const, provider: 'bench', modelId: 'quick', supportedUrls: {} },
    async doGenerate() {
      const calls = contentOf();
      if (calls !== undefined) return { content: calls, ...finish('tool-calls'), warnings: [] };
      return { content: [{ type: 'text' as const, text: 'done' }], ...finish('stop'), warnings: [] };
    },
    async doStream() {
      const calls = contentOf();
      const text = calls === undefined ? Array.from({ length: deltas }, (_, index) => ` w${index % 1_000}`) : [];
      const parts = [
        { type: 'stream-start' as const, warnings: [] },
        ...(calls ?? [{ type: 'text-start' as const, id: '0' }]),
        ...text.map(delta => ({ type: 'text-delta' as const, id: '0', delta })),
        ...(calls === undefined ? [{ type: 'text-end' as const, id: '0' }] : []),
        { type: 'finish' as const, ...finish(calls === undefined ? 'stop' : 'tool-calls') },
      ];
      const stream = new ReadableStream<(typeof parts)[number]>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream };
    },
  };
}

/** Everything that is done once, before anything is counted. */
interface Kit {
  readonly looprig: Looprig;
  readonly store: () => Store;
}

/** A session that is open; what is counted is `run`. */
interface Opened {
  run(): Promise<void>;
  close(): Promise<void>;
}

async function openSession({ looprig, store }: Kit, script: Script, isWatched = false): Promise<Opened> {
  const { defineLoop, defineRig, defineTool } = looprig;
  const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
  const add = defineTool({ name: 'add', description: 'Adds one.', input, execute: async ({ n }) => String(n + 1) });
  const most = Number.POSITIVE_INFINITY;
  const limits = { iterations: most, calls: most, parallel: script.width };
  const loop = defineLoop({
    ...{ name: 'bench', tools: [add], limits, stream: script.stream === true },
    model: quickModel(script),
  });
  const session = await defineRig({ loops: [loop], store: store() }).open();
  return {
    run: async () => {
      const turn = session.submit('go');
      if (isWatched) for await (const event of turn) void event;
      const result = await turn.result;
      if (result.status !== 'done') throw new Error(`the turn ended as ${result.status}`);
    },
    close: () => session.close(),
  };
}

/** What is counted, and for which two sizes: what grows from one to the other belongs to the work, and not to its beginning and end. */
interface Work {
  readonly sizes: readonly [number, number];
  readonly isDurable?: boolean;
  open(kit: Kit, size: number): Promise<Opened>;
}

const script = (steps: number, more: Partial<Script> = {}): Script => ({ steps, width: 1, deltas: 1, ...more });

export type WorkName =
  | 'a step'
  | 'a step that streams'
  | 'a step that is watched'
  | 'a step kept in SQLite'
  | 'a call in a batch'
  | 'a delta that is read'
  | 'a loop and a session';

const WORKS: Readonly<Record<WorkName, Work>> = {
  'a step': { sizes: [50, 250], open: (kit, size) => openSession(kit, script(size)) },
  'a step that streams': { sizes: [50, 250], open: (kit, size) => openSession(kit, script(size, { stream: true })) },
  'a step that is watched': { sizes: [50, 250], open: (kit, size) => openSession(kit, script(size), true) },
  'a step kept in SQLite': { sizes: [50, 250], isDurable: true, open: (kit, size) => openSession(kit, script(size)) },
  'a call in a batch': { sizes: [40, 200], open: (kit, size) => openSession(kit, script(4, { width: size / 4 })) },
  'a delta that is read': {
    sizes: [500, 2_500],
    open: (kit, size) => openSession(kit, script(0, { stream: true, deltas: size }), true),
  },
  'a loop and a session': {
    sizes: [10, 50],
    open: async (kit, size) => ({
      async run() {
        for (let count = 0; count < size; count++) await (await openSession(kit, script(1))).close();
      },
      close: async () => {},
    }),
  },
};

/** A store that does what no store should: as if the journal were copied as a whole at each append. */
function copying(store: Store): Store {
  const all: unknown[] = [];
  return {
    ...Object.fromEntries(
      (['read', 'list', 'find', 'delete', 'putCapture', 'getCapture'] as const).map(name => [
        name,
        store[name].bind(store),
      ]),
    ),
    append(sessionId, expectedSeq, records) {
      all.push(...records);
      structuredClone(all.slice(-20));
      return store.append(sessionId, expectedSeq, records);
    },
  } as Store;
}

/** What `count` says of the work at this size, after a run that has compiled and loaded everything. */
async function countRun(work: Work, kit: Kit, size: number, count: () => () => number): Promise<number> {
  const { run, close } = await work.open(kit, size);
  const stop = count();
  await run();
  const counted = stop();
  await close();
  return counted;
}

function heapBytes(): () => number {
  const profiler = new GCProfiler();
  profiler.start();
  const before = process.memoryUsage().heapUsed;
  return () => {
    const bytes = process.memoryUsage().heapUsed - before;
    const collections = profiler.stop()?.statistics.length ?? 0;
    if (collections > 0)
      throw new Error('garbage was collected while bytes were counted: the young generation is too small');
    return bytes;
  };
}

function promises(): () => number {
  let made = 0;
  const stop = promiseHooks.onInit(() => {
    made += 1;
  });
  return () => {
    stop();
    return made;
  };
}

async function countWork({ entry, work: name = 'a step', slip = false }: Task): Promise<Counts> {
  const work = WORKS[name];
  const looprig: Looprig = await import(entry);
  const folder = mkdtempSync(join(tmpdir(), 'looprig-guard-'));
  const durable = work.isDurable
    ? (await import('looprig/sqlite')).sqliteStore({ file: join(folder, 'a.db'), synchronous: 'normal' })
    : undefined;
  const store = () => {
    const own = durable ?? looprig.memoryStore();
    return slip ? copying(own) : own;
  };
  const kit = { looprig, store };
  const [small, large] = work.sizes;
  const per = async (count: () => () => number): Promise<number> => {
    const first = await countRun(work, kit, small, count);
    return ((await countRun(work, kit, large, count)) - first) / (large - small);
  };
  for (let warmUp = 0; warmUp < 2; warmUp++) await per(() => () => 0);
  const counts = { bytes: Math.round(await per(heapBytes)), promises: round2(await per(promises)) };
  await durable?.close();
  rmSync(folder, { recursive: true, force: true });
  return counts;
}

/** Modules and their bytes that are loaded, whatever package they are of. */
async function countModules({ entry, turn = false }: Task): Promise<Counts> {
  let [modules, bytes] = [0, 0];
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      modules += 1;
      bytes += typeof loaded.source === 'string' ? loaded.source.length : (loaded.source?.byteLength ?? 0);
      return loaded;
    },
  });
  const looprig: Looprig = await import(entry);
  if (turn) await (await openSession({ looprig, store: looprig.memoryStore }, script(1))).run();
  return { modules, bytes };
}

/** The loop that anybody writes by hand, as a measure of how quick this machine is. */
async function bareLoop(steps: number): Promise<void> {
  const model = quickModel(script(steps));
  const messages: unknown[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
  for (;;) {
    const { content } = await model.doGenerate();
    messages.push({ role: 'assistant', content });
    const calls = content.filter(part => part.type === 'tool-call');
    if (calls.length === 0) return;
    const results = await Promise.all(
      calls.map(async ({ toolCallId, input }) => ({ toolCallId, value: String(JSON.parse(input).n + 1) })),
    );
    messages.push({ role: 'tool', content: results });
  }
}

/** The least time that each work took in some rounds, in milliseconds: on a busy machine too, one of many short ones is left alone. */
async function leastTimes(rounds: number, works: readonly (() => Promise<() => Promise<void>>)[]): Promise<number[]> {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++) {
    for (const [index, prepare] of works.entries()) {
      const work = await prepare();
      const start = performance.now();
      await work();
      least[index] = Math.min(least[index] ?? 0, performance.now() - start);
    }
  }
  return least;
}

async function countTimes({ entry }: Task): Promise<Counts> {
  const looprig: Looprig = await import(entry);
  const kit = { looprig, store: looprig.memoryStore };
  const turn = (steps: number) => async () => (await openSession(kit, script(steps))).run;
  // Each is short enough to run to its end before the machine turns to somebody else.
  const works = [async () => () => bareLoop(2_000), turn(100), turn(500)];
  const [bare = 0, short = 0, long = 0] = await leastTimes(100, works);
  return {
    'the bare loop’s': round2(short / 100 / (bare / 2_000)),
    'from 100 to 500 steps': round2(long / 500 / (short / 100)),
  };
}

const round2 = (value: number): number => Number(value.toFixed(2));

async function count(task: Task): Promise<Counts> {
  switch (task.count) {
    case 'import':
      return countModules(task);
    case 'work':
      return countWork(task);
    case 'time':
      return countTimes(task);
  }
}

const [, , text] = process.argv;
if (text !== undefined) process.send?.(await count(JSON.parse(text) as Task));
