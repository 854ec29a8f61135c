/** The gates of a turn, asked one after the other while the turn's other calls go on. */
import { GateError, type PendingGate } from '../../index.ts';
import { decide } from '../follow-turn.ts';
import { GateDesk, type GateDeskParts } from '../gate-desk.ts';
import type { SecretFilter } from '../secrets.ts';
import type { ChatFront } from './front.ts';

/** What asking needs. */
export interface GateQueueParts extends Pick<GateDeskParts, 'session' | 'inputOf'> {
  readonly front: ChatFront;
  readonly secrets: SecretFilter;
  /** The person wants to leave a question open. */
  left(): void;
}

/** An answer that means: let me change the arguments. */
const EDIT = /^\s*(?:e|edit)\s*$/i;

export class GateQueue {
  readonly #parts: GateQueueParts;
  readonly #waiting: PendingGate[] = [];
  #asked: { readonly gateId: string; readonly stop: AbortController } | undefined;

  constructor(parts: GateQueueParts) {
    this.#parts = parts;
  }

  /** Asks about a gate, as soon as those before it are decided. Rejects with what went wrong, where that is no matter of the answer. */
  async open(gate: PendingGate): Promise<void> {
    this.#waiting.push(gate);
    if (this.#asked !== undefined) return;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if ((await this.#ask(next)) === 'decided') continue;
      this.close();
      this.#parts.left();
    }
  }

  /** A gate was decided: here, by a rule, or by the time. */
  resolved(gateId: string): void {
    const place = this.#waiting.findIndex(gate => gate.gateId === gateId);
    if (place !== -1) this.#waiting.splice(place, 1);
    if (this.#asked?.gateId === gateId) this.#asked.stop.abort();
  }

  /** Nothing more is asked. */
  close(): void {
    this.#waiting.length = 0;
    this.#asked?.stop.abort();
  }

  async #ask(gate: PendingGate): Promise<'decided' | 'left'> {
    const { session, front, secrets, inputOf } = this.#parts;
    const asked = { gateId: gate.gateId, stop: new AbortController() };
    this.#asked = asked;
    const { signal: stop } = asked.stop;
    const more = this.#waiting.length;
    const desk = new GateDesk({
      ...{ session, secrets, stop, inputOf },
      view: {
        ask: (lines, prompt) => front.ask(more === 0 ? lines : [...lines, `  (${more} more to decide)`], prompt),
        answered: () => {},
      },
      input: { line: (ask, stop) => this.#line(gate, ask, stop) },
    });
    try {
      return await decide(desk, gate);
    } catch (error) {
      if (!GateError.is(error)) throw error;
      front.say(error.message, 'yellow'); // decided elsewhere in the meantime
      return 'decided';
    } finally {
      this.#asked = undefined;
    }
  }

  /** A line of the person; where it only asks for the arguments, they are put there to be changed. */
  async #line({ callId }: PendingGate, ask: () => void, stop: AbortSignal): Promise<string | undefined> {
    const { front, secrets, inputOf } = this.#parts;
    ask();
    const line = await front.answer(stop);
    if (line === undefined || !EDIT.test(line)) return line;
    const input = JSON.stringify(await inputOf(callId)) ?? '{}';
    // A key is not shown, and arguments without it are not those of the call.
    if (secrets.clean(input) !== input || !front.prefill(`e ${input}`)) return line;
    return front.answer(stop);
  }
}
