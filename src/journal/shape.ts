/**
 * What a record or a mail must have before anybody relies on it: text from a store may have been written by another program. Each field that is read
 * somewhere is checked for its kind; what only a person or a model sees of it is not.
 */
import type { JournalEntry } from './journal.ts';
import type { MailContent } from './mailbox.ts';

type Check = (value: unknown) => boolean;

/** Every field of an entry with its check, so that a new field does not compile until it has one. */
type Fields<Entry> = { readonly [Name in Exclude<keyof Entry, 'type'>]-?: Check };

const text: Check = value => typeof value === 'string';
const number: Check = value => typeof value === 'number';
const flag: Check = value => typeof value === 'boolean';
const anything: Check = () => true;

function optional(check: Check): Check {
  return value => value === undefined || check(value);
}

function listOf(check: Check): Check {
  return value => Array.isArray(value) && value.every(check);
}

function fields(checks: Readonly<Record<string, Check>>): Check {
  const all = Object.entries(checks);
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return all.every(([name, check]) => check(own(value, name)));
  };
}

/** A member of the object itself, so that none of a prototype is taken for one. */
function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** An object whose other fields depend on its `type`; one of a type that is not known has no other fields to be checked. */
function byType(checks: Readonly<Record<string, Check>>): Check {
  return value => {
    if (typeof value !== 'object' || value === null) return false;
    const type = own(value, 'type');
    if (typeof type !== 'string') return false;
    return !Object.hasOwn(checks, type) || checks[type]!(value);
  };
}

const anyObject = fields({});
const limits: Check = value => anyObject(value) && Object.values(value as object).every(number);
const usage = fields({
  ...{ inputTokens: number, outputTokens: number, totalTokens: number },
  ...{ cachedInputTokens: number, reasoningTokens: number },
});
const finishReason = fields({ unified: text, raw: optional(text) });
const limitReached = fields({
  ...{ limit: text, iterations: number, calls: number, tokens: number },
  ...{ maxIterations: optional(number), maxCalls: optional(number), maxTokens: optional(number) },
  repeated: optional(anyObject),
});
const leftBehind = listOf(fields({ callId: text, toolName: text }));
const present: Check = value => value !== undefined;
const outputByType = byType({
  text: fields({ value: text }),
  'error-text': fields({ value: text }),
  json: fields({ value: present }),
  'error-json': fields({ value: present }),
  'execution-denied': fields({ reason: optional(text) }),
  content: fields({ value: listOf(byType({ text: fields({ text }) })) }),
});
/** All that there are: whoever shows one has no other to fall back to. */
const OUTPUTS = ['text', 'error-text', 'json', 'error-json', 'execution-denied', 'content'];
const output: Check = value => outputByType(value) && OUTPUTS.includes(own(value as object, 'type') as string);
const part = byType({
  text: fields({ text }),
  reasoning: fields({ text }),
  file: fields({ mediaType: text, filename: optional(text) }),
  'tool-call': fields({ toolCallId: text, toolName: text, providerExecuted: optional(flag) }),
  'tool-result': fields({ toolCallId: text, toolName: text, output }),
});
const parts = listOf(part);
const userMessage = fields({ role: value => value === 'user', content: parts });
const assistantMessage = fields({ role: value => value === 'assistant', content: parts });
const message: Check = value =>
  fields({ role: value => value === 'system', content: text })(value) ||
  fields({ role: value => ['user', 'assistant', 'tool'].includes(value as string), content: parts })(value);
const rules = listOf(fields({ action: text, target: optional(text), decision: text }));
const requests = listOf(fields({ action: text, target: text, description: optional(text) }));

const inTurn = { turnId: text };
const inStep = { ...inTurn, stepId: text };
const totals = { usage, steps: number, iterations: number, calls: number };
const call = { ...inStep, callId: text, toolName: text };

const RECORDS: { readonly [Type in JournalEntry['type']]: Fields<Extract<JournalEntry, { type: Type }>> } = {
  'session.opened': {
    ...{ loop: text, loopId: text, policyRevision: text, mode: text, format: optional(number) },
    parent: optional(fields({ sessionId: text, callId: text, depth: number })),
  },
  'history.imported': { messages: listOf(message) },
  'mode.changed': { mode: text },
  'input.received': { inputId: text, as: text, message: userMessage, limits: optional(limits) },
  'input.cancelled': { inputId: text },
  'turn.started': { ...inTurn, mode: text, limits, message: optional(userMessage), inputId: optional(text) },
  'turn.resumed': inTurn,
  'step.started': { ...inStep, step: number },
  'input.steered': { ...inTurn, inputId: text },
  'step.responded': {
    ...inStep,
    ...{ message: assistantMessage, finishReason, usage, incomplete: optional(text) },
    unparsed: optional(listOf(listOf(text))),
  },
  'step.retrying': { ...inStep, attempt: number, delayMs: number, reason: text },
  'gate.opened': { ...call, gateId: text, requests, summary: optional(text) },
  'gate.resolved': {
    ...inStep,
    ...{ gateId: text, callId: text, decision: text, reason: optional(text), input: anything, rules: optional(rules) },
  },
  'tool.called': { ...call, summary: optional(text), waitsFor: optional(listOf(text)) },
  'tool.started': call,
  'tool.completed': {
    ...call,
    ...{ outcome: text, output, durationMs: number, endTurn: optional(flag), resultDigest: optional(text) },
    used: optional(fields({ calls: number, usage })),
    capture: optional(fields({ id: text, bytes: number, totalBytes: number })),
  },
  'limit.near': { ...inStep, limit: text, used: number, max: number },
  'step.done': { ...inStep, closing: optional(limitReached), unfit: optional(fields({ note: optional(text) })) },
  'turn.done': {
    ...inTurn,
    ...totals,
    finishReason,
    output: anything,
    limited: optional(limitReached),
    text: optional(text),
  },
  'turn.failed': {
    ...{ ...inTurn, ...totals, leftBehind: optional(leftBehind) },
    error: fields({ name: text, kind: text, message: text, limit: optional(limitReached) }),
  },
  'turn.interrupted': { ...inTurn, ...totals, reason: optional(text), leftBehind: optional(leftBehind) },
};

const MAILS: { readonly [Type in MailContent['type']]: Fields<Extract<MailContent, { type: Type }>> } = {
  submit: { turnId: text, message: userMessage, limits: optional(limits) },
  steer: { inputId: text, message: userMessage, limits: optional(limits) },
  interrupt: { turnId: text, reason: optional(text) },
  answer: { gateId: text, answer: anything },
  mode: { mode: text },
  knock: {},
};

/** What is wrong with something that should be a record, or `undefined`. One of a type that this version does not know is not looked into. */
export function problemWithRecord(value: unknown): string | undefined {
  if (!anyObject(value)) return 'it is no record';
  return problemWithFields(value as object, { seq: number, at: number }) ?? problemByType(value as object, RECORDS);
}

/** What is wrong with something that should be a mail, or `undefined`. */
export function problemWithMail(value: unknown): string | undefined {
  if (!anyObject(value)) return 'it is no mail';
  const mail = value as object;
  const problem = problemWithFields(mail, { mailId: text, at: number, content: anyObject });
  return problem ?? problemByType(own(mail, 'content') as object, MAILS);
}

function problemByType(
  value: object,
  kinds: Readonly<Record<string, Readonly<Record<string, Check>>>>,
): string | undefined {
  const type = own(value, 'type');
  if (typeof type !== 'string') return 'it has no type';
  return Object.hasOwn(kinds, type) ? problemWithFields(value, kinds[type]!) : undefined;
}

function problemWithFields(value: object, checks: Readonly<Record<string, Check>>): string | undefined {
  for (const name in checks) if (!checks[name]!(own(value, name))) return `its "${name}" is not what it has to be`;
  return undefined;
}
