/** What a user may say: text, or parts of text and files. */

import { show } from '../define/tool.ts';
import { SessionError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import { copyContent } from '../model/copy.ts';
import type { UserContent, UserMessage } from '../model/model.ts';

/** A user's input: text, or a list of text and file parts in the model's own format. */
export type UserInput = string | readonly UserContent[];

/** The message for an input, frozen and the session's own. Throws `SessionError` `invalid_input`. */
export function userMessage(input: UserInput): UserMessage {
  if (typeof input === 'string') {
    if (input.trim() === '') throw invalid('the input is blank: say something');
    return deepFreeze({ role: 'user', content: [{ type: 'text', text: input }] });
  }
  if (!Array.isArray(input) || input.length === 0)
    throw invalid(`the input must be text or a list of parts, not ${show(input)}`);
  const content = input.map((part: UserContent, index): UserContent => {
    const isText = part?.type === 'text' && typeof part.text === 'string';
    const isFile = part?.type === 'file' && typeof part.mediaType === 'string' && typeof part.data === 'object';
    if (isText || isFile) return copyPart(part, index);
    throw invalid(`part ${index} of the input must be { type: "text", text } or { type: "file", mediaType, data }`);
  });
  return deepFreeze({ role: 'user', content });
}

function copyPart(part: UserContent, index: number): UserContent {
  try {
    return copyContent(part);
  } catch (cause) {
    throw invalid(
      `part ${index} of the input cannot be taken: ${cause instanceof Error ? cause.message : 'it cannot be read'}`,
    );
  }
}

function invalid(message: string): SessionError<'invalid_input'> {
  return new SessionError('invalid_input', message);
}
