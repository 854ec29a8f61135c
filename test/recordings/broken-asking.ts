/** Turns whose model is made by a real package, and asks a server that answers as a test says. */
import {
  type BehaviourOptions,
  defineLoop,
  defineRig,
  ModelError,
  type Session,
  type ToolLimits,
  type Turn,
  type TurnEvent,
} from 'looprig';
import { type ManualClock, manualClock } from 'looprig/testing';
import { expect } from 'vitest';
import { type Answer, serveAnswers, whole } from './broken-server.ts';
import { answering, KEY, type Wire } from './broken-wire.ts';
import type { PlayedTurn } from './play.ts';

/** The time at which a turn that is asked begins. */
export const START = Date.UTC(2026, 0, 1);

/** A session whose model asks the server at `url`. */
export async function openAt(
  wire: Wire,
  url: string,
  options: BehaviourOptions & { readonly limits?: ToolLimits; readonly clock?: ManualClock } = {},
): Promise<{ readonly session: Session; readonly clock: ManualClock }> {
  const { clock = manualClock(), ...rest } = options;
  const loop = defineLoop({ name: 'asks', model: await wire.model(url), ...rest });
  return { session: await defineRig({ loops: [loop], clock }).open(), clock };
}

/** Reads a turn to its end, and lets the time pass that it waits before retries. */
export async function finish(turn: Turn, clock: ManualClock): Promise<PlayedTurn> {
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    if (event.type !== 'step.retrying') continue;
    while (clock.pending === 0) await new Promise(setImmediate); // the event is shown before the wait begins
    await clock.advance(event.delayMs);
  }
  return { events, result: await turn.result };
}

/** Runs one turn against these answers, the last one for all that is asked after it; then one more that is answered. */
export async function ask(wire: Wire, answers: readonly Answer[], options: BehaviourOptions = {}) {
  let isOver = false;
  const stream = options.stream ?? true;
  await using server = await serveAnswers(index =>
    isOver ? whole(answering(wire, 'fine', stream)) : (answers[index] ?? answers.at(-1)!),
  );
  const { session, clock } = await openAt(wire, server.url, { ...options, clock: manualClock(START) });
  await using _closed = session;
  const { result, events } = await finish(session.submit('go'), clock);
  const requests = [...server.received];
  isOver = true;
  expect((await finish(session.submit('and now?'), clock)).result).toMatchObject({ status: 'done', text: 'fine' });
  expect(JSON.stringify([events, result, session.history])).not.toContain(KEY);
  const waits = events.flatMap(event => (event.type === 'step.retrying' ? [event.delayMs] : []));
  return { result, events, requests, waits };
}

/** The error of a turn that failed by its model: its message is one sentence, and says neither the key nor any markup. */
export function errorOf({ result }: Awaited<ReturnType<typeof ask>>): ModelError {
  if (result.status !== 'failed' || !ModelError.is(result.error)) throw new Error(JSON.stringify(result));
  const { message, attempts } = result.error;
  const times = attempts === 1 ? '' : ` ${attempts} times`;
  expect(message).toMatch(new RegExp(`^the (model request failed|model response broke off)${times}: [^\\n<]+$`));
  expect(message).not.toContain(KEY);
  return result.error;
}
