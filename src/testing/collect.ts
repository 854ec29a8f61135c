import type { TurnEvent } from '../events/events.ts';

/** What can be collected: events to iterate over, and a result. A turn is one. */
export interface Collectable<Event, Result> {
  [Symbol.asyncIterator](): AsyncIterator<Event>;
  readonly result: PromiseLike<Result>;
}

/** Reads a turn to its end: every event in order, and its result. Rejects as the turn's iterator does. */
export async function collect<Result, Event = TurnEvent>(
  turn: Collectable<Event, Result>,
): Promise<{ readonly events: readonly Event[]; readonly result: Result }> {
  const events: Event[] = [];
  for await (const event of turn) events.push(event);
  return { events, result: await turn.result };
}
