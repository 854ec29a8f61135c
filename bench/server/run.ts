/**
 * A server under load, beside one of Hono alone: 200 streams and 50 turns at once. Run by `npm run bench:server`; prints tables. Both servers
 * have a process of their own, and the readers are in this one. Every reader must get every enduring event of its session, once and in order, or it fails.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { SessionEvent } from 'looprig';
import { medianOf } from '../statistics.ts';
import type { ChildOrder, ChildWord } from './child.ts';
import { post, type Reading, readEvents } from './readers.ts';

const STREAMS = Number(process.env.STREAMS ?? 200);
const TURNS = Number(process.env.TURNS ?? 50);
const STEPS = Number(process.env.STEPS ?? 10);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const WORK = { steps: STEPS, callsPerStep: 2, deltas: 20 };

class Server implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(order: ChildOrder): Promise<Server> {
    const file = fileURLToPath(new URL('./child.ts', import.meta.url));
    const child = fork(file, { execArgv: ['--expose-gc', '--no-warnings'] });
    const word = await ask(child, order);
    if (!('url' in word)) throw new Error('the server did not say where it is');
    return new Server(child, word.url);
  }

  async memory(): Promise<NodeJS.MemoryUsage> {
    const word = await ask(this.#child, 'memory');
    if (!('memory' in word)) throw new Error('the server did not say what it uses');
    return word.memory;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise(resolve => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
  }
}

function ask(child: ChildProcess, word: ChildOrder | 'memory'): Promise<ChildWord> {
  return new Promise((resolve, reject) => {
    const fail = (code: number | null): void => reject(new Error(`the server ended with ${code}`));
    child.once('exit', fail);
    child.once('message', answer => {
      child.off('exit', fail);
      resolve(answer as ChildWord);
    });
    child.send(word);
  });
}

interface Round {
  readonly ms: number;
  readonly events: number;
  readonly connectMs: number;
  /** Before the streams were open, with them open, and after the turns with them open. */
  readonly memory: readonly [before: NodeJS.MemoryUsage, open: NodeJS.MemoryUsage, after: NodeJS.MemoryUsage];
}

/** All streams open, then all turns at once, until every reader has seen its turn's end. */
async function round(server: Server, expected: readonly number[] | undefined): Promise<Round> {
  const begun = await Promise.all(Array.from({ length: TURNS }, () => post(server.url, '/v1/sessions', {})));
  const paths = begun.map(({ sessionId }) => `/v1/sessions/${String(sessionId)}`);
  const before = await server.memory();
  const connecting = performance.now();
  const readings: Reading[] = Array.from({ length: STREAMS }, (_, index) =>
    readEvents(server.url, `${paths[index % TURNS]}/events`, 1),
  );
  await Promise.all(readings.map(({ opened }) => opened));
  const connectMs = performance.now() - connecting;
  const open = await server.memory();
  const start = performance.now();
  await Promise.all(paths.map(path => post(server.url, `${path}/turns`, { input: 'Go.' })));
  const ids = await Promise.all(readings.map(reading => reading.ids));
  const ms = performance.now() - start;
  const after = await server.memory();
  const events = readings.reduce((sum, reading) => sum + reading.messages(), 0);
  for (const reading of readings) reading.stop();
  for (const read of ids) requireWhole(read, expected ?? ids[0] ?? []);
  return { ms, events, connectMs, memory: [before, open, after] };
}

function requireWhole(read: readonly number[], expected: readonly number[]): void {
  if (read.length === expected.length && read.every((id, index) => id === expected[index])) return;
  throw new Error(`a reader got ${read.length} enduring events, not ${expected.length}: ${read.join(' ')}`);
}

/** The events of one turn, as a reader gets them. */
async function eventsOfOneTurn(url: string): Promise<SessionEvent[]> {
  const { sessionId } = await post(url, '/v1/sessions', {});
  const path = `/v1/sessions/${String(sessionId)}`;
  const response = await fetch(`${url}${path}/events`);
  const stream = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream());
  await post(url, `${path}/turns`, { input: 'Go.' });
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    if (/"type":"turn\.done".*\n\n/.test(text)) break;
  }
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as SessionEvent);
}

const rate = ({ events, ms }: Round): number => (events / ms) * 1_000;

await using looprig = await Server.start({ server: 'looprig', ...WORK, events: [] });
const events = await eventsOfOneTurn(looprig.url);
await using bare = await Server.start({ server: 'bare', ...WORK, events });
const enduring = events.filter(({ type }) => !type.endsWith('.delta')).map(({ seq }) => seq);
const rounds: { looprig: Round[]; bare: Round[] } = { looprig: [], bare: [] };
for (let index = 0; index < ROUNDS; index++) {
  rounds.looprig.push(await round(looprig, enduring));
  rounds.bare.push(await round(bare, enduring));
}

console.log(
  `${STREAMS} streams, ${TURNS} turns at once of ${STEPS} steps, ${WORK.callsPerStep} calls and ${WORK.deltas} pieces of text a step; ${ROUNDS} rounds`,
);
console.log(
  `each turn has ${events.length} events, ${enduring.length} of them enduring; every reader got every one, once and in order\n`,
);
const HEAD = ['server', 'events/s, median (best)', 'ms for all turns', 'ms to open all streams', 'KB an open stream'];
console.log(`| ${HEAD.join(' | ')} | MB more after the turns |`);
console.log('| --- | --: | --: | --: | --: | --: |');
for (const name of ['looprig', 'bare'] as const) {
  const of = rounds[name];
  const heap = (from: 0 | 1, to: 1 | 2): number =>
    medianOf(of.map(({ memory }) => memory[to].heapUsed - memory[from].heapUsed));
  const cells = [
    ...[name, `${Math.round(medianOf(of.map(rate)))} (${Math.round(Math.max(...of.map(rate)))})`],
    ...[medianOf(of.map(({ ms }) => ms)).toFixed(0), medianOf(of.map(({ connectMs }) => connectMs)).toFixed(0)],
    ...[(heap(0, 1) / STREAMS / 1_024).toFixed(1), (heap(1, 2) / 1_048_576).toFixed(1)],
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
console.log(
  `\nratio of median rates: ${(medianOf(rounds.looprig.map(rate)) / medianOf(rounds.bare.map(rate))).toFixed(2)}`,
);
