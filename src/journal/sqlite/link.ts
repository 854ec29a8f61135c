/** The way to the thread that owns the file: questions and their answers. */
import { Worker } from 'node:worker_threads';
import { JournalError } from '../../errors.ts';
import type { Answer, Failure, FileOptions, Question, RequestName, Requests } from './protocol.ts';

interface Waiting {
  resolve(reply: unknown): void;
  reject(cause: unknown): void;
}

export class FileLink {
  readonly #options: FileOptions;
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;

  constructor(options: FileOptions) {
    this.#options = options;
  }

  /** Asks, and gives the answer. The thread keeps the process alive only while it owes one. */
  ask<Name extends RequestName>(
    name: Name,
    ask: Requests[Name]['ask'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Requests[Name]['reply']> {
    return new Promise((resolve, reject) => {
      const worker = this.#thread();
      this.#asked += 1;
      const question: Question = { id: this.#asked, name, ask };
      worker.postMessage(question, transfer);
      if (this.#waiting.size === 0) worker.ref();
      this.#waiting.set(question.id, { resolve: reply => resolve(reply as Requests[Name]['reply']), reject });
    });
  }

  /** Ends the thread, if there is one. */
  async end(): Promise<void> {
    if (this.#worker === undefined) return;
    const worker = this.#worker;
    try {
      await this.ask('close', undefined);
    } finally {
      this.#worker = undefined;
      await worker.terminate();
    }
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // Beside this file there is the source when it runs as source, and the built file when it is built.
    const script = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
    const worker = newWorker(script, this.#options);
    worker.unref();
    worker.on('message', (answer: Answer) => this.#settle(answer));
    worker.on('error', cause => this.#lose(worker, cause));
    worker.on('exit', () => this.#lose(worker));
    this.#worker = worker;
    return worker;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if ('failure' in answer) waiting?.reject(errorOf(answer.failure));
    else waiting?.resolve(answer.reply);
  }

  /** The thread is gone: what it owed is unknown. The next question begins a new one. */
  #lose(worker: Worker, cause?: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const { file } = this.#options;
    const error = new JournalError('store_failed', `the thread of the store ${file} ended without an answer`, {
      cause,
    });
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

function newWorker(script: URL, options: FileOptions): Worker {
  try {
    // The program's own switches (`--input-type`, `--import`, …) are not for this thread.
    return new Worker(script, { name: 'looprig-sqlite', workerData: options, execArgv: [] });
  } catch (cause) {
    throw new JournalError('store_failed', `no thread could be started for the store ${options.file}`, { cause });
  }
}

/** A failure as the error that a program sees. */
export function errorOf(failure: Failure): JournalError {
  const { kind, message, reason } = failure;
  return new JournalError(kind, message, reason === undefined ? {} : { cause: new Error(reason) });
}
