/** A person's answers, a line at a time. The terminal stays as it is: no key is read before Enter, and Ctrl-C is what it always is. */
import type { Clock } from '../index.ts';
import type { HostInput } from './host.ts';

/** How long what was typed before the question is thrown away, in milliseconds: it cannot be meant as an answer. */
const DISCARD_MS = 50;

export class LineInput {
  readonly #stdin: HostInput;
  readonly #clock: Clock;

  constructor(stdin: HostInput, clock: Clock) {
    this.#stdin = stdin;
    this.#clock = clock;
  }

  /** Calls `ask` when it listens, and gives the next line; `undefined` where none comes any more, or `stop` is aborted. */
  async line(ask: () => void, stop: AbortSignal): Promise<string | undefined> {
    const stdin = this.#stdin;
    if (stop.aborted || stdin.readableEnded) return undefined;
    const answer = Promise.withResolvers<string | undefined>();
    let isAsked = false;
    let typed = '';
    const timer = this.#clock.setTimer(() => {
      isAsked = true;
      ask();
    }, DISCARD_MS);
    const take = (piece: unknown): void => {
      if (!isAsked) return;
      typed += String(piece);
      const end = typed.search(/[\r\n]/);
      if (end !== -1) answer.resolve(typed.slice(0, end));
    };
    const over = (): void => answer.resolve(undefined);
    const ends = ['end', 'close', 'error'] as const;
    stdin.on('data', take);
    for (const end of ends) stdin.on(end, over);
    stop.addEventListener('abort', over, { once: true });
    stdin.resume();
    try {
      return await answer.promise;
    } finally {
      this.#clock.clearTimer(timer);
      stdin.pause();
      stdin.off('data', take);
      for (const end of ends) stdin.off(end, over);
      stop.removeEventListener('abort', over);
    }
  }
}
