/** The thread that owns the file. It opens it at the first question, and tries again at the next if that failed. */
import { parentPort, workerData } from 'node:worker_threads';
import { failureOf } from './failure.ts';
import { StoreFile } from './file.ts';
import type { Answer, FileOptions, Question } from './protocol.ts';

const options = workerData as FileOptions;
let opened: StoreFile | undefined;

parentPort?.on('message', (question: Question) => {
  parentPort?.postMessage(answer(question));
});

function answer({ id, name, ask }: Question): Answer {
  try {
    if (name === 'close') {
      opened?.close();
      opened = undefined;
      return { id, reply: undefined };
    }
    opened ??= new StoreFile(options);
    return { id, reply: opened.answer(name, ask) };
  } catch (cause) {
    return { id, failure: failureOf(cause, options.file, options.busyTimeoutMs) };
  }
}
