/** The view for programs: each event as one line of JSON, then the result as the last one. */
import type { PendingGate, TurnEvent, TurnResult } from '../index.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { RunEnd, RunHeader, View, ViewOutput } from './view.ts';

/** What JSON leaves as it is, although a terminal may obey it or a line reader may end a line there. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** What is left out. */
export interface JsonViewOptions {
  /** Notices on standard error. */
  readonly quiet: boolean;
  /** What the model thinks. */
  readonly hideReasoning: boolean;
}

export class JsonView implements View {
  readonly #output: ViewOutput;
  readonly #secrets: SecretFilter;
  readonly #isQuiet: boolean;
  readonly #hideReasoning: boolean;

  constructor(output: ViewOutput, secrets: SecretFilter, options: JsonViewOptions) {
    this.#output = output;
    this.#secrets = secrets;
    this.#isQuiet = options.quiet;
    this.#hideReasoning = options.hideReasoning;
  }

  start({ model }: RunHeader): void {
    if (model !== undefined) this.notice(`model: ${model}`);
  }

  event(event: TurnEvent): void {
    if (event.type === 'reasoning.delta' && this.#hideReasoning) return;
    this.#write(event);
  }

  notice(text: string): void {
    if (!this.#isQuiet) this.#output.progress(`${oneLine(text, this.#secrets)}\n`);
  }

  ask(): void {}

  answered(): void {}

  end({ result, exitStatus, reason, sessionId, gates = [] }: RunEnd): void {
    const session = sessionId === undefined ? {} : { sessionId };
    this.#write({ type: 'result', exitStatus, ...session, ...(result ? plainResult(result) : waiting(gates)) });
    if (reason !== undefined) this.#output.progress(`looprig: ${oneLine(reason, this.#secrets)}\n`);
  }

  abandon(): void {}

  #write(value: object): void {
    this.#output.answer(jsonLine(value, this.#secrets));
  }
}

/** A value as one line of JSON that no terminal obeys. */
export function jsonLine(value: object, secrets: SecretFilter): string {
  const json = JSON.stringify(value).replace(UNSAFE_IN_JSON, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `${secrets.clean(json)}\n`;
}

function waiting(gates: readonly PendingGate[]): object {
  return { status: 'waiting', gates };
}

/** A result as JSON can carry it: an error by its class, kind and message, a limit that is none left out. */
function plainResult(result: TurnResult): object {
  if (result.status === 'failed') {
    const { name, kind, message } = result.error;
    return { ...result, error: { name, kind, message } };
  }
  if (result.status === 'done' && result.limited !== undefined) {
    const finite = Object.entries(result.limited).filter(([, value]) => value !== Number.POSITIVE_INFINITY);
    return { ...result, limited: Object.fromEntries(finite) };
  }
  return result;
}
