/** A fresh process for one figure. Whatever happens to it is an answer. */
import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Figure, Task } from './child.ts';

export interface Answer {
  readonly figure?: Figure;
  readonly seen?: string;
  readonly cannot?: string;
  /** Whether the process ended by a signal: one that killed itself. */
  readonly signal?: NodeJS.Signals;
  /** Milliseconds from its start to its end. */
  readonly wallMs: number;
}

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
/** Nothing is traced or reported anywhere, and nothing is printed in colours. */
const QUIET = {
  LANGSMITH_TRACING: 'false',
  LANGCHAIN_TRACING_V2: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OTEL_SDK_DISABLED: 'true',
  NO_COLOR: '1',
  NODE_NO_WARNINGS: '1',
};

/** Runs `task` with `library`, for at most `limitMs`. */
export function ask(library: string, task: Task, limitMs: number): Promise<Answer> {
  return new Promise(resolve => {
    const start = performance.now();
    // A child has only what it needs of this environment.
    const { PATH, HOME, TMPDIR } = process.env;
    const child = fork(CHILD, [library, JSON.stringify(task)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...(PATH && { PATH }), ...(HOME && { HOME }), ...(TMPDIR && { TMPDIR }), ...QUIET },
    });
    let answer: Omit<Answer, 'wallMs'> = { cannot: 'its process ended without a figure' };
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, limitMs);
    child.on('message', message => {
      answer = message as typeof answer;
    });
    child.on('error', error => {
      answer = { cannot: error.message };
    });
    child.on('close', (_code, signal) => {
      clearTimeout(timer);
      const wallMs = performance.now() - start;
      if (isLate) resolve({ cannot: `no figure within ${limitMs / 1_000} s`, wallMs });
      else resolve({ ...answer, ...(signal && { signal }), wallMs });
    });
  });
}
