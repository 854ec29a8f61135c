/** The request of a page that uses `useChat`, answered by a session. */
import type { UIMessage, UIMessageChunk } from 'ai';
import { type Session, SessionError, type SubmitOptions, type Turn, type UserInput } from '../index.ts';
import { answersFrom, field } from './approvals.ts';
import { toUIMessageStream, type UIMessageStreamOptions } from './ui-stream.ts';

/** Options of `chatStream`: those of the stream, and of a turn that a new message begins. */
export interface ChatStreamOptions extends Omit<UIMessageStreamOptions, 'session' | 'continues'> {
  /** For a turn that a new message begins: its limits, and whether it waits for the one that runs. */
  readonly submit?: SubmitOptions;
}

/**
 * Answers a request of `useChat`: give it the request's parsed body. A user's message last is submitted as a turn, and what the page has not answered by then
 * is closed as denied. Approvals in an assistant's message are given to the session's gates, a turn that another process left unfinished is resumed, and its rest is told.
 * `regenerate` goes on with a turn that failed or was interrupted.
 *
 * The history is the session's own: of the page's messages nothing is used but the last one's text, files and approvals. Who may send it is for the caller to decide.
 * Throws `SessionError` for a body that says nothing to the session, `GateError` for an approval of a gate that is closed or none of the session's.
 */
export async function chatStream(
  session: Session,
  body: unknown,
  options: ChatStreamOptions = {},
): Promise<ReadableStream<UIMessageChunk>> {
  const { submit, ...telling } = options;
  const messages = messagesOf(body);
  if (field(body, 'trigger') === 'regenerate-message') {
    return toUIMessageStream(session.continue(submit), { ...telling, session });
  }
  const last = answeredMessage(body, messages) ?? messages.at(-1);
  if (last?.role === 'user') {
    return toUIMessageStream(session.submit(inputOf(last), submit), { ...telling, session });
  }
  if (last?.role !== 'assistant') throw invalid("its last message must be a user's or an assistant's");
  const turn = await goOn(session, last);
  return toUIMessageStream(turn, { ...telling, session, continues: last });
}

/** Hands the answers of the page to the gates, and gives the turn that they are for. */
async function goOn(session: Session, message: UIMessage): Promise<Turn> {
  const running = session.turn; // taken before it may go on, and end
  const open = new Set(session.gates.map(({ gateId }) => gateId));
  for (const { gateId, answer } of answersFrom(message)) {
    // A request that is sent again finds its answers given, and its turn under way.
    if (open.has(gateId) || running?.id !== message.id) await session.answer(gateId, answer);
  }
  if (running !== undefined) return running;
  if (session.unfinished?.turnId !== undefined) return session.resume();
  throw new SessionError('nothing_to_resume', 'the message answers nothing, and no turn runs: send a message');
}

/** `useChat` names the message whose approvals it sends, which need not be the last. */
function answeredMessage(body: unknown, messages: readonly UIMessage[]): UIMessage | undefined {
  const id = field(body, 'messageId');
  return messages.findLast(message => message.role === 'assistant' && message.id === id);
}

function messagesOf(body: unknown): readonly UIMessage[] {
  const messages = field(body, 'messages');
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('it must have a list of "messages"');
  messages.forEach((message: unknown, index) => {
    if (typeof field(message, 'id') === 'string' && Array.isArray(field(message, 'parts'))) return;
    throw invalid(`messages[${index}] must have an "id" and "parts"`);
  });
  return messages as UIMessage[];
}

/** The text and the files of a user's message. Anything else that a page put there is its own. */
function inputOf({ parts }: UIMessage): UserInput {
  return parts.flatMap((part): Exclude<UserInput, string>[number][] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    if (part.type !== 'file') return [];
    const { mediaType, url, filename } = part;
    return [{ type: 'file', mediaType, data: fileData(url), ...(filename === undefined ? {} : { filename }) }];
  });
}

function fileData(url: unknown): Extract<Exclude<UserInput, string>[number], { type: 'file' }>['data'] {
  const [, base64] = typeof url === 'string' ? (/^data:[^,]*;base64,(.*)$/s.exec(url) ?? []) : [];
  if (base64 !== undefined) return { type: 'data', data: base64 };
  if (typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url)) return { type: 'url', url: new URL(url) };
  throw invalid('a file must have a "url" that is a base64 data URL or begins with http');
}

function invalid(message: string): SessionError<'invalid_input'> {
  return new SessionError('invalid_input', `the body of the request cannot be used: ${message}`);
}
