/** Time that stands still: waiting for a person is not running, for the turn that asks and for the calls that wait for its answer. */
import type { TurnContext } from './context.ts';
import type { Deadline } from './deadlines.ts';

/** Stops the time of a turn, and of the call that it works for where it is a delegate's. The function that it gives lets both go on. */
export function standStill(turn: TurnContext): () => void {
  const goOn = turn.deadlines.pause(turn.turnTimer);
  const callGoesOn = turn.share?.pause();
  turn.deadlines.rest();
  return () => {
    goOn();
    callGoesOn?.();
  };
}

/** The calls of a batch whose delegates wait for people. Their time stands still, and the turn's where no other call runs. */
export class WaitingCalls {
  readonly #turn: TurnContext;
  readonly #running: () => number;
  readonly #waits = new Map<number, number>();
  #turnGoesOn: (() => void) | undefined;

  /** `running` says how many calls of the batch run. */
  constructor(turn: TurnContext, running: () => number) {
    this.#turn = turn;
    this.#running = running;
  }

  /** A delegate of the call begins to wait; what is given is to be called once when it waits no more. */
  begin(index: number, deadline: Deadline | undefined): () => void {
    this.#waits.set(index, (this.#waits.get(index) ?? 0) + 1);
    const goOn = deadline && this.#turn.deadlines.pause(deadline);
    this.check();
    return () => {
      const left = (this.#waits.get(index) ?? 1) - 1;
      if (left > 0) this.#waits.set(index, left);
      else this.#waits.delete(index);
      goOn?.();
      this.check();
    };
  }

  /** A call has its result, whatever its delegates do. */
  settle(index: number): void {
    this.#waits.delete(index);
    this.check();
  }

  /** Lets the turn's time stand still where all calls that run wait, and else go on: to be asked whenever another one starts. */
  check(): void {
    if (this.#waits.size > 0 && this.#waits.size === this.#running()) this.#turnGoesOn ??= standStill(this.#turn);
    else {
      this.#turnGoesOn?.();
      this.#turnGoesOn = undefined;
    }
  }
}
