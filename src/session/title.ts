/** What a session is called in lists. */
import type { Message, UserContent } from '../model/model.ts';

/** The first words of the first user message. */
export function titleOf(messages: readonly Message[]): string {
  const first = messages.find(message => message.role === 'user');
  const text = first === undefined ? '' : textOf(first.content as readonly UserContent[]);
  const line = text.trim().split(/\r?\n/, 1)[0] ?? '';
  // What is left of a pair that is cut in two is no character.
  return copyOf(line.length > 80 ? `${line.slice(0, 79).replace(/[\ud800-\udbff]$/, '')}…` : line);
}

/** A text of its own: engines keep the whole of a text in memory for as long as a part that was cut out of it is held. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

/** The text of a message's parts, one after another. */
function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  let text = '';
  for (const part of content) if (part.type === 'text' && part.text !== undefined) text += part.text;
  return text;
}
