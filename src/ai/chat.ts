/** The request of a page that uses `useChat`, answered by a session. */
import type { UIMessageChunk } from 'ai';
import { readTyped } from '../define/options.ts';
import {
  type Message,
  type Session,
  SessionBusyError,
  SessionError,
  type SubmitOptions,
  type Turn,
  type TurnOptions,
  type UserInput,
} from '../index.ts';
import { type ChatAnswers, readChatRequest } from './chat-request.ts';
import { refuseStream, STREAM_OPTIONS, toUIMessageStream, type UIMessageStreamOptions } from './ui-stream.ts';

/** Options of `chatStream`: those of the stream, and of a turn that a new message begins. */
export interface ChatStreamOptions extends Omit<UIMessageStreamOptions, 'session' | 'continues'> {
  /** For a turn that a new message begins: its limits, and whether it waits for the one that runs. */
  readonly submit?: SubmitOptions;
}

/**
 * Answers a request of `useChat`: give it the request's parsed body. A user's message last is submitted as a turn, and what the page has not answered by then
 * is closed as denied. Approvals in an assistant's message are given to the session's gates, a turn that another process left unfinished is resumed, and its rest is told.
 * `regenerate` goes on with the last turn if it failed or was interrupted; else what its user said last on the page is submitted once more, as a turn of its
 * own: an answer that was given stays in the history.
 *
 * The history is the session's own: of the page's messages nothing is used but the last one's text, files and approvals. Who may send it is for the caller to decide.
 * Throws `SessionError` for a body that says nothing to the session, `GateError` for an approval of a gate that is closed or none of the session's.
 */
export async function chatStream(
  session: Session,
  body: unknown,
  options: ChatStreamOptions = {},
): Promise<ReadableStream<UIMessageChunk>> {
  const { submit, ...telling } = readTyped(options, ['submit', ...STREAM_OPTIONS], 'chatStream', refuseStream);
  const request = readChatRequest(body);
  switch (request.asks) {
    case 'again':
      return toUIMessageStream(again(session, request.input, submit), { ...telling, session });
    case 'input':
      return toUIMessageStream(session.submit(request.input, submit), { ...telling, session });
    case 'answers': {
      const turn = await goOn(session, request);
      return toUIMessageStream(turn, { ...telling, session, continues: request.message });
    }
  }
}

/** Another answer to what the user said: the rest of the turn that was to give it, or a new turn. */
function again(session: Session, input: UserInput, submit: SubmitOptions | undefined): Turn {
  const waits = session.gates.length > 0; // what is asked for is another answer, not this one
  if (session.isRunning && !waits)
    throw new SessionBusyError('another answer can be asked for when it has ended, or after it was interrupted');
  if (waits || !isLastSaid(session.history, input)) return session.submit(input, submit);
  try {
    return session.continue(ownOf(submit));
  } catch (error) {
    if (!SessionError.is(error) || error.kind !== 'nothing_to_continue') throw error;
    return session.submit(input, submit);
  }
}

/** What a turn is given that is no new input. */
function ownOf({ limits, budget, signal }: SubmitOptions = {}): TurnOptions {
  return { ...(limits && { limits }), ...(budget && { budget }), ...(signal && { signal }) };
}

function isLastSaid(history: readonly Message[], input: UserInput): boolean {
  const said = history.findLast(({ role }) => role === 'user')?.content;
  return said !== undefined && textOf(said) === textOf(input);
}

function textOf(content: string | readonly { readonly type: string; readonly text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.map(part => (part.type === 'text' ? part.text : '')).join('');
}

/** Hands the answers of the page to the gates, and gives the turn that they are for. */
async function goOn(session: Session, { message, answers }: ChatAnswers): Promise<Turn> {
  const running = session.turn; // taken before it may go on, and end
  const open = new Set(session.gates.map(({ gateId }) => gateId));
  for (const { gateId, answer } of answers) {
    // A request that is sent again finds its answers given, and its turn under way.
    if (open.has(gateId) || running?.id !== message.id) await session.answer(gateId, answer);
  }
  if (running !== undefined) return running;
  if (session.unfinished?.turnId !== undefined) return session.resume();
  throw new SessionError('nothing_to_resume', 'the message answers nothing, and no turn runs: send a message');
}
