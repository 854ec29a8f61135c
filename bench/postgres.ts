/**
 * What the PostgreSQL store costs beside bare inserts of the same text on the same server. Run by `npm run bench:postgres`; prints tables.
 * All is measured in turns, round by round, since a shared machine is never the same twice: compare ratios of one run.
 */
import { performance } from 'node:perf_hooks';
import type { JournalRecord } from 'looprig';
import { postgresStore } from 'looprig/postgres';
import pg from 'pg';
import { PostgresServer } from '../test/support/postgres-server.ts';
import { medianOf } from './statistics.ts';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 };

/** What a session appends before a call runs. */
function records(seq: number, turnId: string): JournalRecord[] {
  const step = { turnId, stepId: crypto.randomUUID(), at: Date.now() };
  const call = { ...step, callId: `call-${seq}`, toolName: 'add' };
  const content = [{ type: 'tool-call' as const, toolCallId: call.callId, toolName: 'add', input: { n: seq } }];
  const finishReason = { unified: 'tool-calls' as const, raw: 'tool_use' };
  return [
    { type: 'step.responded', ...step, message: { role: 'assistant', content }, finishReason, usage, seq: seq + 1 },
    { type: 'tool.called', ...call, seq: seq + 2 },
    { type: 'tool.started', ...call, seq: seq + 3 },
  ];
}

/** Something that appends records, one append at a time a session. */
interface Appender {
  append(session: string, expectedSeq: number, records: readonly JournalRecord[]): Promise<void>;
  close(): Promise<void>;
}

/** The floor: one prepared insert an append, on one connection with the same settings; nothing is checked. */
async function bareAppender(url: string): Promise<Appender> {
  const client = new pg.Client({ connectionString: url, keepAlive: true });
  await client.connect();
  await client.query(
    'CREATE TABLE IF NOT EXISTS bare (session uuid, seq bigint, text text, PRIMARY KEY (session, seq))',
  );
  const text = 'INSERT INTO bare (session, seq, text) VALUES ($1, $2, $3)';
  return {
    append: async (session, seq, given) => {
      await client.query({ name: 'bare', text, values: [session, seq + given.length, JSON.stringify(given)] });
    },
    close: () => client.end(),
  };
}

async function storeAppender(url: string): Promise<Appender> {
  const store = postgresStore({ url });
  return {
    append: async (session, seq, given) => store.append(session, seq, given),
    close: () => store.close(),
  };
}

/** One session's appends, one after another: each call makes the next, and gives how long it took, in microseconds. */
function lonely(appender: Appender): () => Promise<number> {
  const session = crypto.randomUUID();
  let seq = 0;
  return async () => {
    const given = records(seq, session);
    const start = performance.now();
    await appender.append(session, seq, given);
    const micros = (performance.now() - start) * 1_000;
    seq += given.length;
    return micros;
  };
}

/** Appends a second of many sessions at once, each one append at a time. */
async function rateOf(appender: Appender, sessions: number, appends: number): Promise<number> {
  const work = async (): Promise<void> => {
    const next = lonely(appender);
    for (let append = 0; append < appends; append++) await next();
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: sessions }, work));
  return (sessions * appends * 1_000) / (performance.now() - start);
}

const at = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

const server = await PostgresServer.start(['shared_buffers=128MB']);
const url = await server.createDatabase();
const [bare, store] = await Promise.all([bareAppender(url), storeAppender(url)]);
await Promise.all([rateOf(bare, 1, 500), rateOf(store, 50, 20)]);

/** In turns, append by append. */
async function alone(appends: number): Promise<void> {
  const [nextBare, nextStore] = [lonely(bare), lonely(store)];
  const [times, stores]: [number[], number[]] = [[], []];
  for (let append = 0; append < appends; append++) {
    times.push(await nextBare());
    stores.push(await nextStore());
  }
  console.log(`one session, an append of three records, ${whole(appends)} of each in turns; microseconds:`);
  for (const [name, own] of [['bare insert', times] as const, ['postgresStore', stores] as const]) {
    const parts = [0, 0.25, 0.5, 0.75].map(part => whole(at(own, part))).join(' ');
    console.log(`  ${name}: least, quarter, median, three quarters: ${parts}`);
  }
  const ratios = [0.1, 0.25, 0.5].map(part => (at(stores, part) / at(times, part)).toFixed(2)).join(' ');
  console.log(`  the store beside the bare insert, at the tenth, the quarter and the median: ${ratios}`);
}

/** In turns, round by round. */
async function together(sessions: number, appends: number, rounds: number): Promise<void> {
  const [ones, many]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ones.push(await rateOf(store, 1, appends));
    many.push(await rateOf(store, sessions, appends));
  }
  const gains = many.map((rate, round) => rate / (ones[round] ?? 0));
  console.log(`${sessions} sessions at once, ${appends} appends each, ${rounds} rounds:`);
  console.log(
    `  appends a second: ${whole(medianOf(many))} (most ${whole(Math.max(...many))}); one session: ${whole(medianOf(ones))}`,
  );
  console.log(`  times one session, median (least): ${medianOf(gains).toFixed(1)} (${Math.min(...gains).toFixed(1)})`);
}

for (let round = 0; round < 3; round++) await alone(1_000);
await together(50, 100, 9);
await Promise.all([bare.close(), store.close()]);
await server.stop();
