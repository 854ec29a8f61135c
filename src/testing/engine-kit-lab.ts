/** What the tests of an engine are run on, and what they find there: workers to kill, servers to restart, journals to read. */
import { systemClock } from '../clock.ts';
import type { SessionHost } from '../engines/host.ts';
import type { GateAnswer } from '../index.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import { type LedgerLine, letGo, readLedger } from './engine-kit-ledger.ts';
import { KIT_ANSWER, type KitPlan } from './engine-kit-loop.ts';
import { pause } from './pause.ts';

/**
 * A process that runs turns, on this machine: the tests kill it, stop it and let it go on by its number. On `SIGTERM` it closes its host with a `graceMs` of some
 * seconds, and ends.
 */
export interface EngineKitWorker {
  readonly pid: number;
}

/** A server that the engine or the store stands on. */
export interface EngineKitServer {
  /** As in a title: `Restate`. */
  readonly name: string;
  /** Ends it at once, as a loss of power does. */
  kill(): Promise<void>;
  /** Starts it again on what it had. */
  restart(): Promise<void>;
}

/** An engine to be tested, with what is round it. */
export interface EngineKitLab {
  /** Where tools write down what they do: what the workers gave to `engineKitLoops`. */
  readonly folder: string;
  /** A host of this process, of the same loops, store and engine, which runs no turns itself. */
  readonly host: SessionHost;
  /** The store that host and workers use. */
  readonly store: JournalStore;
  /** Starts a process that runs turns of `engineKitLoops(folder)`. Resolves when it does. */
  startWorker(): Promise<EngineKitWorker>;
  /** What can be killed beside workers. Default: nothing. */
  readonly servers?: readonly EngineKitServer[];
  /** Ends all that it started. */
  close(): Promise<void>;
}

/** The longest that anything may take before it counts as lost, in milliseconds. */
const PATIENCE_MS = 120_000;
const LOOK_MS = 25;

/** A turn that a test started. */
export interface KitTurn {
  readonly sessionId: string;
  readonly turnId: string;
}

/** A lab in use. */
export class KitBench {
  readonly lab: EngineKitLab;
  #workers: EngineKitWorker[] = [];

  constructor(lab: EngineKitLab) {
    this.lab = lab;
  }

  get workers(): readonly EngineKitWorker[] {
    return this.#workers;
  }

  /** Sees to it that so many workers run. */
  async haveWorkers(count: number): Promise<void> {
    const most = Math.max(0, this.#workers.length - count);
    const [surplus, kept] = [this.#workers.slice(0, most), this.#workers.slice(most)];
    this.#workers = kept;
    for (const worker of surplus) await end(worker);
    const missing = Array.from({ length: count - kept.length }, () => this.lab.startWorker());
    this.#workers.push(...(await Promise.all(missing)));
  }

  /** Kills a worker as nothing but the system can. */
  async kill(pid: number): Promise<void> {
    const worker = this.#workers.find(one => one.pid === pid);
    if (worker === undefined)
      throw new Error(`${pid} is no worker: calls run in the processes that startWorker started`);
    this.#workers = this.#workers.filter(one => one !== worker);
    await end(worker);
  }

  /** Tells a worker to end, and waits until it has. It takes no more turns from then on. */
  async end(pid: number): Promise<void> {
    this.#workers = this.#workers.filter(worker => worker.pid !== pid);
    process.kill(pid, 'SIGTERM');
    await waitFor(`process ${pid} to end as it was told`, () => (isAlive(pid) ? undefined : true));
  }

  async killAll(): Promise<void> {
    for (const { pid } of this.#workers.slice()) await this.kill(pid);
  }

  async begin(): Promise<string> {
    return this.lab.host.begin();
  }

  async submit(sessionId: string, plan: KitPlan): Promise<KitTurn> {
    const { turnId } = await this.lab.host.submit(sessionId, JSON.stringify(plan));
    return { sessionId, turnId };
  }

  /** A new session with a first turn. */
  async start(plan: KitPlan): Promise<KitTurn> {
    return this.submit(await this.begin(), plan);
  }

  letGo(key: string): void {
    letGo(this.lab.folder, key);
  }

  ledger(sessionId?: string): readonly LedgerLine[] {
    const lines = readLedger(this.lab.folder);
    return sessionId === undefined ? lines : lines.filter(line => line.sessionId === sessionId);
  }

  /** Waits until a call of this key has begun (so often), and gives what the ledger says of the last one. */
  async begun(key: string, times = 1): Promise<LedgerLine> {
    return waitFor(`call "${key}" to begin`, () => {
      const lines = this.ledger().filter(line => line.what === 'begin' && line.key === key);
      return lines.length < times ? undefined : lines.at(-1);
    });
  }

  /** Waits until a call is through in this process, or the process has given it up. */
  async settled(callId: string, pid: number): Promise<void> {
    await waitFor(`call ${callId} to be through in process ${pid}`, () =>
      this.ledger().some(line => line.what !== 'begin' && line.callId === callId && line.pid === pid)
        ? true
        : undefined,
    );
  }

  isAlive(pid: number): boolean {
    return isAlive(pid);
  }

  /** A worker that has run a call lately. */
  async someWorkerAtWork(): Promise<number> {
    return waitFor('a worker at work', () => {
      const pid = this.ledger().at(-1)?.pid;
      return this.#workers.some(worker => worker.pid === pid) ? pid : undefined;
    });
  }

  /** The session's journal. A store that cannot be reached now is asked again. */
  async records(sessionId: string): Promise<readonly JournalRecord[]> {
    return waitFor(`the journal of ${sessionId}`, async () => {
      const records: JournalRecord[] = [];
      try {
        for await (const record of this.lab.store.read(sessionId, 1)) records.push(record);
      } catch {
        return undefined; // a server of the test is down
      }
      return records;
    });
  }

  /** Waits for a record, and gives the first that `isIt`. */
  async recorded<Type extends JournalRecord['type']>(
    sessionId: string,
    type: Type,
    isIt: (record: RecordOf<Type>) => boolean = () => true,
  ): Promise<RecordOf<Type>> {
    let lastSeq = -1;
    return waitFor(`a record ${type} in session ${sessionId}`, async () => {
      const stored = await this.lab.store.find(sessionId).catch(() => undefined);
      if (stored === undefined || stored.lastSeq === lastSeq) return undefined;
      lastSeq = stored.lastSeq;
      return recordsOf(await this.records(sessionId), type).find(isIt);
    });
  }

  /** Waits for the end of a turn, and gives its record. */
  async ended({ sessionId, turnId }: KitTurn): Promise<TurnEnd> {
    let lastSeq = -1;
    return waitFor(`the end of turn ${turnId} in session ${sessionId}`, async () => {
      const stored = await this.lab.store.find(sessionId).catch(() => undefined);
      if (stored === undefined || stored.lastSeq === lastSeq) return undefined;
      lastSeq = stored.lastSeq;
      return (await this.records(sessionId)).filter(isEnd).find(end => end.turnId === turnId);
    });
  }

  /** Waits for the end of a turn that must be done. */
  async done(turn: KitTurn): Promise<readonly JournalRecord[]> {
    const end = await this.ended(turn);
    if (end.type !== 'turn.done') throw new Error(`turn ${turn.turnId} must be done: ${JSON.stringify(end)}`);
    return this.records(turn.sessionId);
  }

  /** Waits for the turn's question, and answers it. */
  async answer({ sessionId, turnId }: KitTurn, answer: GateAnswer): Promise<void> {
    const { gateId } = await this.recorded(sessionId, 'gate.opened', gate => gate.turnId === turnId);
    await this.lab.host.answer(sessionId, gateId, answer);
  }

  async close(): Promise<void> {
    await this.killAll();
    await this.lab.close();
  }
}

export type RecordOf<Type extends JournalRecord['type']> = Extract<JournalRecord, { readonly type: Type }>;
export type TurnEnd = RecordOf<'turn.done' | 'turn.failed' | 'turn.interrupted'>;

export function recordsOf<Type extends JournalRecord['type']>(
  records: readonly JournalRecord[],
  type: Type,
): RecordOf<Type>[] {
  return records.filter((record): record is RecordOf<Type> => record.type === type);
}

function isEnd(record: JournalRecord): record is TurnEnd {
  const { type } = record;
  return type === 'turn.done' || type === 'turn.failed' || type === 'turn.interrupted';
}

/** Looks again and again until there is something. */
async function waitFor<Found>(
  what: string,
  look: () => Found | undefined | Promise<Found | undefined>,
): Promise<Found> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error(`waited ${PATIENCE_MS / 1_000} s in vain for ${what}`);
    await pause(LOOK_MS, systemClock, undefined);
  }
}

async function end({ pid }: EngineKitWorker): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has ended by itself
  }
  await waitFor(`process ${pid} to end`, () => (isAlive(pid) ? undefined : true));
}

/** Whether a process is there; one that has ended is, until its parent has taken note of it. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** What is wrong with a session whose turns are over: nothing is missing, and nothing that was recorded ran again. */
export function problemsOf(records: readonly JournalRecord[], ledger: readonly LedgerLine[]): string[] {
  const problems: string[] = [];
  const results = Map.groupBy(recordsOf(records, 'tool.completed'), ({ callId }) => callId);
  const begun = Map.groupBy(
    ledger.filter(({ what }) => what === 'begin'),
    ({ callId }) => callId,
  );
  for (const { callId } of recordsOf(records, 'tool.called')) {
    const [result, ...more] = results.get(callId) ?? [];
    if (result === undefined || more.length > 0)
      problems.push(`call ${callId} has ${more.length + (result ? 1 : 0)} results`);
  }
  for (const [callId, lines] of begun) {
    const isRepeatable = lines[0]?.tool === 'again';
    if (lines.length > 1 && !isRepeatable) problems.push(`call ${callId} ran ${lines.length} times`);
  }
  for (const [callId, [result]] of results) {
    if (result?.outcome === 'done' && !begun.has(callId)) problems.push(`call ${callId} is done and never ran`);
  }
  const answers = recordsOf(records, 'step.responded').flatMap(({ message }) =>
    message.content.flatMap(part => (part.type === 'text' ? [part.text] : [])),
  );
  const turns = recordsOf(records, 'turn.done').length;
  if (answers.filter(text => text === KIT_ANSWER).length !== turns)
    problems.push(`${turns} turns gave ${answers.length} answers`);
  return problems;
}
