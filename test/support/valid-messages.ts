/** A strict reading of the message format of the provider specification v4, as it looks in a journal: plain JSON. */
import type { Message } from 'looprig';
import { z } from 'zod';

/** Text without half a surrogate pair, which providers refuse. */
const text = z.string().refine(value => value.isWellFormed(), 'holds half a surrogate pair');
const name = text.min(1);
const values = z.record(z.string(), z.unknown());
const providerOptions = z.record(z.string(), values).optional();
const url = text.refine(value => URL.canParse(value), 'is no URL');

const output = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['text', 'error-text']), value: text }),
  z.strictObject({ type: z.enum(['json', 'error-json']), value: z.unknown() }),
  z.strictObject({ type: z.literal('content'), value: z.array(z.unknown()).min(1) }),
  z.strictObject({ type: z.literal('execution-denied'), reason: text.optional() }),
]);

const file = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('data'), data: text }),
  z.strictObject({ type: z.literal('url'), url, originalUrl: text.optional() }),
]);

const result = z.strictObject({
  type: z.literal('tool-result'),
  toolCallId: name,
  toolName: name,
  output,
  providerOptions,
});

const assistantPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text, providerOptions }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string(), providerOptions }),
  z.strictObject({ type: z.enum(['file', 'reasoning-file']), mediaType: text, data: file, providerOptions }),
  z.strictObject({ type: z.literal('custom'), kind: text, providerOptions }),
  z.strictObject({
    ...{ type: z.literal('tool-call'), toolCallId: name, toolName: name, input: values },
    ...{ providerExecuted: z.literal(true).optional(), providerOptions },
  }),
  result,
]);

const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.array(z.strictObject({ type: z.literal('text'), text })).min(1),
  }),
  z.strictObject({ role: z.literal('assistant'), content: z.array(assistantPart).min(1), providerOptions }),
  z.strictObject({ role: z.literal('tool'), content: z.array(result).min(1) }),
]);

/** What is wrong with messages that a test's session has written; `undefined` if nothing is. */
export function problemWithMessages(messages: readonly Message[]): string | undefined {
  const checked = z.array(message).safeParse(JSON.parse(JSON.stringify(messages)));
  return checked.error && z.prettifyError(checked.error);
}
