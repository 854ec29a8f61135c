/** What a page that uses `useChat` begins with: the messages of the turns that ended, and what its user has said since. */

import type { UIMessage } from 'ai';
import { userParts } from '../ai/ui-messages.ts';
import { type ToldTurn, toUIMessageStream } from '../ai/ui-stream.ts';
import type { SessionHost } from '../engines/host.ts';
import { isTerminal, type TurnEvent, type UserContent } from '../index.ts';
import { loadAi } from './packages.ts';

/** The messages, made as the page itself makes them of a stream. Throws what the host throws, and `ServerError` `missing_package`. */
export async function chatMessages(host: SessionHost, sessionId: string): Promise<readonly UIMessage[]> {
  const { readUIMessageStream } = await loadAi();
  const { turns, state } = await host.find(sessionId);
  let begun = 0;
  let ended = 0;
  const isWhole = (): boolean =>
    begun >= turns && ended >= turns - (state === 'running' || state === 'waiting' ? 1 : 0);
  const messages: UIMessage[] = [];
  if (isWhole()) return messages;
  const abort = new AbortController();
  let turn: TurnEvent[] = [];
  for await (const event of host.events(sessionId, { signal: abort.signal })) {
    if (event.type === 'turn.started') {
      begun += 1;
      turn = [];
      messages.push(...said(`${event.turnId}:input`, event.input));
    }
    if (event.type === 'input.steered') messages.push(...said(`${event.turnId}:${event.inputId}`, event.input));
    if ('turnId' in event) turn.push(event as TurnEvent);
    if (isTerminal(event)) {
      ended += 1;
      const stream = toUIMessageStream(recorded(event.turnId, turn));
      for await (const message of readUIMessageStream({ stream })) keep(messages, message);
    }
    if (isWhole()) break;
  }
  abort.abort();
  return messages;
}

/** A message as it grows: the last state of it is the one that stays. */
function keep(messages: UIMessage[], message: UIMessage): void {
  if (messages.at(-1)?.id === message.id) messages[messages.length - 1] = message;
  else messages.push(message);
}

function said(id: string, input: readonly UserContent[]): readonly UIMessage[] {
  const parts = userParts(input);
  return parts.length === 0 ? [] : [{ id, role: 'user', parts }];
}

/** A turn that was read. */
function recorded(id: string, events: readonly TurnEvent[]): ToldTurn {
  return {
    id,
    async *subscribe() {
      yield* events;
      return undefined;
    },
  };
}
