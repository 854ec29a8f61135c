/** The exchanges of this folder, written by hand, and the recordings of real providers where a checkout has them beside it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Recording } from '../../src/testing/recording.ts';

/** Reads one of the exchanges of this folder. */
export function exchanges(name: string): Recording {
  return readRecording(fileURLToPath(new URL(`${name}.json`, import.meta.url)));
}

/** The same, with all responses as streams where some are: for Gemini, an event is as good as a body. */
export function exchangesInOneWay(name: string): Recording {
  const recording = exchanges(name);
  if (recording.provider !== 'google') return recording;
  const streamed = recording.exchanges.map(({ request, response }) => {
    const { status, body, sse = `data: ${JSON.stringify(body)}\n\n` } = response;
    return { request, response: { status, headers: { 'content-type': 'text/event-stream' }, sse } };
  });
  return { ...recording, exchanges: streamed };
}

/** Reads a recording. */
export function readRecording(file: string): Recording {
  return JSON.parse(readFileSync(file, 'utf8'));
}

const folder = process.env.LOOPRIG_RECORDINGS ?? fileURLToPath(new URL('../../../shared/recordings', import.meta.url));

/** Name and file of each recording of a real provider; empty where there are none. */
export const recordings: readonly [name: string, file: string][] = existsSync(folder)
  ? readdirSync(folder)
      .filter(entry => entry.endsWith('.json'))
      .map(entry => [entry.slice(0, -5), `${folder}/${entry}`])
  : [];

/** How many recordings there are where there are any. */
const COUNT = 34;

/** For the title of tests that need recordings: says how many are left out, if they are. */
export const LEFT_OUT: string = recordings.length > 0 ? '' : ` (${COUNT} left out: no folder of recordings was found)`;

if (LEFT_OUT !== '') console.warn(`recordings of real providers:${LEFT_OUT}`);
