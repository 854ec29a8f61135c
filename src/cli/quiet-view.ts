/** The view that shows the answer and nothing else; what went wrong still goes to standard error. */
import { neutralise, oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { RunEnd, View, ViewOutput } from './view.ts';

export class QuietView implements View {
  readonly #output: ViewOutput;
  readonly #secrets: SecretFilter;

  constructor(output: ViewOutput, secrets: SecretFilter) {
    this.#output = output;
    this.#secrets = secrets;
  }

  start(): void {}

  event(): void {}

  notice(): void {}

  ask(): void {}

  answered(): void {}

  end({ result, reason }: RunEnd): void {
    if (result?.status === 'done') this.#output.answer(answerText(result.text, this.#secrets));
    if (reason !== undefined) this.#output.progress(`looprig: ${oneLine(reason, this.#secrets)}\n`);
  }

  abandon(): void {}
}

/** An answer as it is written: safe, and ended by a line feed. */
export function answerText(text: string, secrets: SecretFilter): string {
  const safe = neutralise(secrets.clean(text));
  return safe === '' || safe.endsWith('\n') ? safe : `${safe}\n`;
}
