/** The way from the store to the file: in this thread, or through one that owns it. */
import { Worker } from 'node:worker_threads';
import { failureOf } from './failure.ts';
import { StoreFile } from './file.ts';
import type { Answer, Failure, FileOptions, Outcome, Question, RequestName, Requests } from './protocol.ts';

/** Asks, and gives what came of it. Never rejects. */
export interface FileLink {
  ask<Name extends RequestName>(name: Name, ask: Requests[Name]['ask']): Promise<Outcome<Requests[Name]['reply']>>;
  /** Closes the file, if it is open. */
  end(): Promise<void>;
}

/** Opens the file at the first question, and tries again at the next if that failed. */
export class HeldFile {
  readonly #options: FileOptions;
  #file: StoreFile | undefined;

  constructor(options: FileOptions) {
    this.#options = options;
  }

  answer(name: RequestName, ask: unknown): Outcome<unknown> {
    try {
      if (name === 'close') return { reply: this.#close() };
      this.#file ??= new StoreFile(this.#options);
      return { reply: this.#file.answer(name, ask) };
    } catch (cause) {
      return { failure: failureOf(cause, this.#options) };
    }
  }

  #close(): undefined {
    const file = this.#file;
    this.#file = undefined;
    file?.close();
  }
}

/** In this thread: nothing stands between, and this thread waits for the disk. */
export function directLink(options: FileOptions): FileLink {
  const file = new HeldFile(options);
  return {
    ask: async (name, ask) => {
      // A reader lets others have their turn between two parcels. A group of writes comes at the end of a tick anyway.
      if (name !== 'write') await new Promise(next => setImmediate(next));
      return file.answer(name, ask) as Outcome<never>;
    },
    end: async () => {
      file.answer('close', undefined);
    },
  };
}

/** Through a thread of its own. It keeps the process alive only while it owes an answer. */
export class ThreadLink implements FileLink {
  readonly #options: FileOptions;
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, (outcome: Outcome<never>) => void>();
  #asked = 0;

  constructor(options: FileOptions) {
    this.#options = options;
  }

  ask<Name extends RequestName>(name: Name, ask: Requests[Name]['ask']): Promise<Outcome<Requests[Name]['reply']>> {
    return new Promise(settle => {
      const worker = this.#thread();
      if (worker === undefined) {
        settle({ failure: failed(`no thread could be started for the store ${this.#options.file}`) });
        return;
      }
      this.#asked += 1;
      const question: Question = { id: this.#asked, name, ask };
      worker.postMessage(question);
      if (this.#waiting.size === 0) worker.ref();
      this.#waiting.set(question.id, settle);
    });
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    await this.ask('close', undefined);
    this.#worker = undefined;
    await worker.terminate();
  }

  #thread(): Worker | undefined {
    if (this.#worker !== undefined) return this.#worker;
    const worker = startThread(this.#options);
    if (worker === undefined) return undefined;
    worker.unref();
    worker.on('message', (answer: Answer) => this.#settle(answer));
    // An exit follows.
    worker.on('error', () => {});
    worker.on('exit', () => this.#lose(worker));
    this.#worker = worker;
    return worker;
  }

  #settle({ id, outcome }: Answer): void {
    const settle = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    settle?.(outcome as Outcome<never>);
  }

  /** The thread is gone: what it owed is unknown. The next question begins a new one. */
  #lose(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const failure = failed(`the thread of the store ${this.#options.file} ended without an answer`);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const settle of waiting) settle({ failure });
  }
}

function startThread(options: FileOptions): Worker | undefined {
  // Beside this file there is the source when it runs as source, and the built file when it is built.
  const script = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
  try {
    // The program's own switches (`--input-type`, `--import`, …) are not for this thread.
    return new Worker(script, { name: 'looprig-sqlite', workerData: options, execArgv: [] });
  } catch {
    return undefined;
  }
}

function failed(message: string): Failure {
  return { kind: 'store_failed', message };
}
