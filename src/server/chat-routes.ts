/** Routes for a page that uses `useChat` of AI SDK: its own format both ways, over the sessions of a host. */

import type { UIMessageChunk } from 'ai';
import { type ChatAnswers, readChatRequest } from '../ai/chat-request.ts';
import { toUIMessageStream } from '../ai/ui-stream.ts';
import type { SessionHost } from '../engines/host.ts';
import { SessionBusyError, SessionError } from '../index.ts';
import { answer, json } from './answers.ts';
import { chatMessages } from './chat-messages.ts';
import { type Route, type RouteContext, route } from './route.ts';
import { CHAT, MESSAGES } from './schemas.ts';
import { messageText, type SseSource } from './sse.ts';
import { HostTurn } from './told-turn.ts';

const STREAM = {
  description: 'Chunks of a UI message stream of AI SDK, one a message; `[DONE]` is the last.',
  type: 'text/event-stream',
} as const;

/** What is said to whoever asks for another answer while a turn gives one. */
const ANSWERS_LATER = 'another answer can be asked for when it has ended, or after it was interrupted';

/** What says that a stream speaks AI SDK's protocol, and which version. */
const PROTOCOL = { 'x-vercel-ai-ui-message-stream': 'v1' } as const;

const chat = route({
  ...{ method: 'POST', path: '/v1/chat', id: 'chat', summary: 'Answers a request of useChat', isStream: true },
  body: CHAT,
  answers: { 200: STREAM },
  errors: [404, 409],
  async handle({ body }, { host, streams }) {
    streams.requireRoom();
    const sessionId = body.id;
    const request = readChatRequest(body);
    if (request.asks !== 'answers') {
      const { lastSeq, turnId: open, isLive, state } = await host.find(sessionId);
      if (request.asks === 'again' && open !== undefined && isLive && state !== 'waiting')
        throw new SessionBusyError(ANSWERS_LATER);
      const { turnId } = await host.submit(sessionId, request.input);
      const turn = new HostTurn({ host, sessionId, turnId, after: lastSeq });
      return streams.respond(new Chunks(toUIMessageStream(turn, { session: turn })), PROTOCOL);
    }
    const turn = await goOn(host, sessionId, request);
    const stream = toUIMessageStream(turn, { session: turn, continues: request.message });
    return streams.respond(new Chunks(stream), PROTOCOL);
  },
});

const followChat = route({
  ...{ method: 'GET', path: '/v1/chat/{session}/stream', id: 'followChat', isStream: true },
  summary: 'The turn that runs, or waits for a person',
  answers: { 200: STREAM, 204: { description: 'No turn runs.' } },
  errors: [404],
  async handle({ param }, { host, streams }) {
    streams.requireRoom();
    const details = await host.find(param('session'));
    const { sessionId, turnId, isLive, gates } = details;
    if (turnId === undefined || !(isLive || gates.length > 0)) return answer(null, undefined, 204);
    const turn = new HostTurn({ host, sessionId, turnId, after: 0 }, details);
    return streams.respond(new Chunks(toUIMessageStream(turn, { session: turn })), PROTOCOL);
  },
});

const loadChat = route({
  ...{ method: 'GET', path: '/v1/chat/{session}', id: 'loadChat', summary: 'The messages that a page begins with' },
  answers: { 200: { description: 'They are for `useChat`.', schema: MESSAGES } },
  errors: [404, 501],
  async handle({ param }: { param(name: string): string }, { host }: RouteContext) {
    return json({ id: param('session'), messages: await chatMessages(host, param('session')) });
  },
});

/** What a page with `useChat` needs. */
export const CHAT_ROUTES: readonly Route[] = [chat, followChat, loadChat];

/** Hands the answers of the page to the gates, and gives the turn that they are for. */
async function goOn(host: SessionHost, sessionId: string, { message, answers }: ChatAnswers): Promise<HostTurn> {
  const before = await host.find(sessionId);
  const open = new Set(before.gates.map(({ gateId }) => gateId));
  for (const { gateId, answer: given } of answers) {
    // A request that is sent again finds its answers given, and its turn under way.
    if (open.has(gateId) || before.turnId !== message.id) await host.answer(sessionId, gateId, given);
  }
  const { turnId } = before;
  if (turnId === undefined) {
    throw new SessionError('nothing_to_resume', 'the message answers nothing, and no turn runs: send a message');
  }
  if (!before.isLive) await takeUp(host, sessionId);
  return new HostTurn({ host, sessionId, turnId, after: 0 }, await host.find(sessionId));
}

/** A turn that its process left goes on with the answer, or is taken up. */
async function takeUp(host: SessionHost, sessionId: string): Promise<void> {
  try {
    await host.resume(sessionId);
  } catch (error) {
    if (!SessionError.is(error) || !GOES_ON.has(error.kind)) throw error;
  }
}

const GOES_ON: ReadonlySet<unknown> = new Set(['busy', 'nothing_to_resume']);

/** The chunks of a stream as messages. */
class Chunks implements SseSource {
  readonly opening = '';
  readonly #reader: ReadableStreamDefaultReader<UIMessageChunk>;

  constructor(chunks: ReadableStream<UIMessageChunk>) {
    this.#reader = chunks.getReader();
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.#reader.read();
    return done ? undefined : messageText({ data: JSON.stringify(value) });
  }

  closing(failure: { readonly error: unknown } | undefined, reason: string | undefined): string {
    const errorText = failure === undefined ? reason : 'the turn could not be read further';
    const told = errorText === undefined ? '' : messageText({ data: JSON.stringify({ type: 'error', errorText }) });
    return `${told}${messageText({ data: '[DONE]' })}`;
  }

  stop(): void {
    void this.#reader.cancel().catch(() => {});
  }
}
