/** The thread that owns the file, where the store has one for it. */
import { parentPort, workerData } from 'node:worker_threads';
import { HeldFile } from './link.ts';
import type { Answer, FileOptions, Question } from './protocol.ts';

const file = new HeldFile(workerData as FileOptions);

parentPort?.on('message', ({ id, name, ask }: Question) => {
  const answer: Answer = { id, outcome: file.answer(name, ask) };
  parentPort?.postMessage(answer);
});
