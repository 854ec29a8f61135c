/** The shape of each event as a stream tells it. Fields may be added to an event in later versions. */
import type { SessionEvent } from '../index.ts';
import { ACCESS_REQUEST, GATE_RULE } from './schemas.ts';

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;
const ANY = {} as const;
const PARTS = { type: 'array', items: { type: 'object', required: ['type'] } } as const;
const OBJECT = { type: 'object' } as const;

const USAGE = {
  type: 'object',
  properties: {
    ...{ inputTokens: COUNT, outputTokens: COUNT, totalTokens: COUNT },
    ...{ cachedInputTokens: COUNT, reasoningTokens: COUNT },
  },
  required: ['inputTokens', 'outputTokens', 'totalTokens', 'cachedInputTokens', 'reasoningTokens'],
} as const;

const FINISH_REASON = { type: 'object', properties: { unified: TEXT, raw: TEXT }, required: ['unified'] } as const;

const HEADER = { sessionId: TEXT, loopId: TEXT, seq: COUNT, at: COUNT } as const;
const IN_TURN = { ...HEADER, turnId: TEXT } as const;
const IN_STEP = { ...IN_TURN, stepId: TEXT } as const;
const OF_CALL = { ...IN_STEP, callId: TEXT, toolName: TEXT } as const;
const TURN_END = { ...IN_TURN, text: TEXT, usage: USAGE, steps: COUNT, iterations: COUNT, calls: COUNT } as const;
const LEFT_BEHIND = { type: 'array', items: { type: 'object', required: ['callId', 'toolName'] } } as const;

type Fields = Readonly<Record<string, object>>;

/** What an event always has, and what it may have. */
const FIELDS: Readonly<Record<SessionEvent['type'], readonly [always: Fields, sometimes?: Fields]>> = {
  'turn.started': [{ ...IN_TURN, input: PARTS, mode: TEXT, limits: OBJECT }, { inputId: TEXT }],
  'turn.resumed': [IN_TURN],
  'input.received': [{ ...HEADER, inputId: TEXT, as: { enum: ['turn', 'steer'] }, input: PARTS }],
  'input.steered': [{ ...IN_TURN, inputId: TEXT, input: PARTS }],
  'input.cancelled': [{ ...HEADER, inputId: TEXT }],
  'step.started': [{ ...IN_STEP, step: COUNT }],
  'text.delta': [{ ...IN_STEP, text: TEXT }, { isWhole: { const: true } }],
  'reasoning.delta': [{ ...IN_STEP, text: TEXT }],
  'tool.input.delta': [{ ...IN_STEP, inputId: TEXT, toolName: TEXT, text: TEXT }],
  'tool.called': [
    { ...OF_CALL, input: ANY },
    { summary: TEXT, waitsFor: { type: 'array', items: TEXT } },
  ],
  'tool.started': [OF_CALL],
  'tool.progress': [{ ...OF_CALL, update: ANY }],
  'tool.completed': [
    { ...OF_CALL, outcome: TEXT, isError: { type: 'boolean' }, output: OBJECT, durationMs: { type: 'number' } },
    { capture: { type: 'object', required: ['id', 'bytes', 'totalBytes'] } },
  ],
  'tool.late': [{ ...OF_CALL, isError: { type: 'boolean' } }],
  'gate.opened': [
    { ...OF_CALL, gateId: TEXT, input: ANY, requests: { type: 'array', items: ACCESS_REQUEST } },
    { summary: TEXT },
  ],
  'gate.resolved': [
    { ...IN_STEP, gateId: TEXT, callId: TEXT, decision: { enum: ['approved', 'denied'] } },
    { reason: TEXT, input: ANY, rules: { type: 'array', items: GATE_RULE } },
  ],
  'limit.near': [{ ...IN_STEP, limit: TEXT, used: COUNT, max: COUNT }],
  'step.retrying': [{ ...IN_STEP, attempt: COUNT, delayMs: { type: 'number' }, reason: TEXT }],
  'step.done': [{ ...IN_STEP, text: TEXT, finishReason: FINISH_REASON, usage: USAGE }],
  'turn.done': [
    { ...TURN_END, finishReason: FINISH_REASON },
    { output: ANY, limited: OBJECT },
  ],
  'turn.failed': [
    { ...TURN_END, error: { type: 'object', required: ['name', 'kind', 'message'] } },
    { leftBehind: LEFT_BEHIND },
  ],
  'turn.interrupted': [TURN_END, { reason: TEXT, leftBehind: LEFT_BEHIND }],
  'turn.released': [IN_TURN],
  'events.dropped': [{ ...HEADER, count: COUNT }, { turnId: TEXT }],
  'observer.failed': [{ ...HEADER, message: TEXT }, { turnId: TEXT }],
  'mode.changed': [{ ...HEADER, mode: TEXT }],
  'session.drift': [{ ...HEADER, recorded: TEXT, current: TEXT }],
};

/** One event. */
export const EVENT: object = {
  type: 'object',
  oneOf: Object.entries(FIELDS).map(([type, [always, sometimes = {}]]) => ({
    type: 'object',
    title: type,
    properties: { type: { const: type }, ...always, ...sometimes },
    required: ['type', ...Object.keys(always)],
  })),
  discriminator: { propertyName: 'type' },
};
