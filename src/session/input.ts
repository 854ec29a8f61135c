/** What a user may say: text, or parts of text and files. */

import { copyList } from '../define/options.ts';
import { SessionError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import { copyContent } from '../model/copy.ts';
import type { UserContent, UserMessage } from '../model/model.ts';
import { reasonOf } from '../reason.ts';
import { show } from '../show.ts';

/** A user's input: text, or a list of text and file parts in the model's own format. */
export type UserInput = string | readonly UserContent[];

/** The message for an input, frozen and the session's own. Throws `SessionError` `invalid_input`. */
export function userMessage(input: UserInput): UserMessage {
  const parts: readonly unknown[] | undefined =
    typeof input === 'string' ? [{ type: 'text', text: input }] : copyList(input);
  if (parts === undefined || parts.length === 0)
    throw invalid(`the input must be text or a list of parts, not ${show(input)}`);
  // Providers refuse a part of empty text, and with it the whole history, now and in every later turn.
  const content = parts.map(userPart).filter(part => part.type !== 'text' || part.text !== '');
  if (content.every(part => part.type === 'text' && part.text.trim() === '')) {
    throw invalid('the input is blank: say something');
  }
  return deepFreeze({ role: 'user', content });
}

/** A part of the session's own, checked as a copy: what is checked is what is sent. */
function userPart(given: unknown, index: number): UserContent {
  const part = copyPart(given, index);
  if (part?.type === 'text' && typeof part.text === 'string') return { ...part, text: part.text.toWellFormed() };
  if (part?.type !== 'file' || typeof part.mediaType !== 'string') {
    throw invalid(`part ${index} of the input must be { type: "text", text } or { type: "file", mediaType, data }`);
  }
  if (!isFileData(part.data)) {
    const forms =
      '{ type: "data", data }, { type: "url", url }, { type: "text", text } or { type: "reference", reference }';
    throw invalid(`data of part ${index} of the input must be ${forms}, not ${show(part.data)}`);
  }
  return part;
}

/** Whether this is data as the model's format has it; what a caller gives may be anything. */
function isFileData(data: FileData | undefined | null): boolean {
  switch (data?.type) {
    case 'data':
      return typeof data.data === 'string'; // bytes are copied as base64 text
    case 'url':
      return data.url instanceof URL;
    case 'text':
      return typeof data.text === 'string';
    case 'reference':
      return typeof data.reference === 'object' && data.reference !== null;
    default:
      return false;
  }
}

type FileData = Extract<UserContent, { type: 'file' }>['data'];

function copyPart(part: unknown, index: number): UserContent {
  try {
    return copyContent(part) as UserContent;
  } catch (cause) {
    throw invalid(`part ${index} of the input cannot be taken: ${reasonOf(cause, 'it cannot be read')}`);
  }
}

function invalid(message: string): SessionError<'invalid_input'> {
  return new SessionError('invalid_input', message);
}
