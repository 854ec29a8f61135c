/** What the recorded requests say: the user's inputs, and the settings that the recorded answers depend on. */
import type { ModelSettings } from 'looprig';
import type { Recording } from 'looprig/testing';
import { at, list, text } from './json.ts';

/** What the user said, in the order of the turns that began with it; `Go.` where no request was kept. */
export function recordedInputs({ exchanges }: Recording): readonly string[] {
  const inputs = exchanges.flatMap(({ request }) => (request === null ? [] : opening(messagesOf(request.body))));
  return inputs.length === 0 ? ['Go.'] : inputs;
}

/** The messages of a request, whatever its format calls them. */
export function messagesOf(body: unknown): readonly unknown[] {
  const input = at(body, 'input');
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return [...list(at(body, 'messages')), ...list(at(body, 'contents')), ...list(input)];
}

/** The text of the last message, if it opens a turn: if it is the user's, and answers no call. */
function opening(messages: readonly unknown[]): string[] {
  const [before, last] = [messages.at(-2), messages.at(-1)];
  const isAside = at(before, 'role') === 'tool'; // a client that adds a word to the results goes on with its turn
  const said = at(last, 'role') === 'user' ? textOf(last) : '';
  return isAside || said === '' ? [] : [said];
}

function textOf(message: unknown): string {
  const content = at(message, 'content') ?? at(message, 'parts');
  if (typeof content === 'string') return content;
  return list(content)
    .map(part => text(at(part, 'text')) ?? '')
    .join('');
}

/**
 * The settings as the provider packages call them: whether reasoning was asked for, and whether the provider was to keep its
 * responses, since that decides what must go back.
 */
export function recordedSettings({ exchanges, provider }: Recording): ModelSettings {
  const body = exchanges[0]?.request?.body;
  const options = provider === 'anthropic' ? anthropicOptions(body) : provider === 'openai' ? openaiOptions(body) : {};
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [provider]: options } };
}

type Options = Record<string, boolean | string | string[] | { readonly type: string; readonly budgetTokens: number }>;

function anthropicOptions(body: unknown): Options {
  const budgetTokens = at(at(body, 'thinking'), 'budget_tokens');
  return typeof budgetTokens === 'number' ? { thinking: { type: 'enabled', budgetTokens } } : {};
}

function openaiOptions(body: unknown): Options {
  const [store, include] = [at(body, 'store'), list(at(body, 'include')).map(String)];
  return { ...(typeof store === 'boolean' && { store }), ...(include.length > 0 && { include }) };
}
