/** What a page that uses `useChat` asks for, read from its body. */
import type { UIMessage } from 'ai';
import { SessionError, type UserInput } from '../index.ts';
import { answersFrom, field, type PageAnswer } from './approvals.ts';

/** Answers to approvals, in the message that shows them. */
export interface ChatAnswers {
  readonly asks: 'answers';
  readonly message: UIMessage;
  readonly answers: readonly PageAnswer[];
}

/** What a page asks for: another answer to what its user said last on the page, an answer to what its user says, or what follows of approvals. */
export type ChatRequest =
  | { readonly asks: 'again'; readonly input: UserInput }
  | { readonly asks: 'input'; readonly input: UserInput }
  | ChatAnswers;

/** Reads the body of a request of `useChat`. Throws `SessionError` `invalid_input` for one that says nothing to a session. */
export function readChatRequest(body: unknown): ChatRequest {
  const messages = messagesOf(body);
  if (field(body, 'trigger') === 'regenerate-message') return { asks: 'again', input: lastInput(messages) };
  const last = answeredMessage(body, messages) ?? messages.at(-1);
  if (last?.role === 'user') return { asks: 'input', input: inputOf(last) };
  if (last?.role !== 'assistant') throw invalid("its last message must be a user's or an assistant's");
  return { asks: 'answers', message: last, answers: answersFrom(last) };
}

/** The page has left out the answer that it wants anew, and all that came after it. */
function lastInput(messages: readonly UIMessage[]): UserInput {
  const last = messages.findLast(({ role }) => role === 'user');
  if (last === undefined) throw invalid("it must have a user's message, which is answered again");
  return inputOf(last);
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
