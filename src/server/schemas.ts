/** The shapes of what the server takes and gives: requests are checked by them, and its description is made of them. */

import type { InferSchema, JsonSchema, ToolLimits } from '../index.ts';

/** The shape of a request's body. */
export interface Shape<Body> {
  readonly [keyword: string]: unknown;
  /** What fits it; a type alone. */
  readonly '~body'?: Body;
}

/** What a session is begun with. */
export interface BeginBody {
  readonly loop?: string;
  readonly mode?: string;
}

/** An input in JSON, which has neither bytes nor URLs. */
export type InputBody =
  | string
  | readonly (
      | { readonly type: 'text'; readonly text: string }
      | { readonly type: 'file'; readonly mediaType: string; readonly filename?: string; readonly data: DataBody }
    )[];

type DataBody =
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'text'; readonly text: string };

/** What is submitted. */
export interface SubmitBody {
  readonly input: InputBody;
  readonly limits?: ToolLimits;
}

/** What is said to a running turn, with the limits of the turn that it may become. */
export interface SteerBody {
  readonly input: InputBody;
  readonly limits?: ToolLimits;
}

/** Which turn is interrupted, and why. */
export interface InterruptBody {
  readonly turnId?: string;
  readonly reason?: string;
}

/** Which mode a session gets. */
export interface ModeBody {
  readonly mode: string;
}

/** An answer to a gate. */
export type GateAnswerBody =
  | { readonly decision: 'approve' }
  | { readonly decision: 'approveAlways'; readonly rules?: readonly RuleBody[] }
  | { readonly decision: 'deny'; readonly reason?: string }
  | { readonly decision: 'edit'; readonly input: object };

interface RuleBody {
  readonly action: string;
  readonly target?: string;
  readonly decision: 'allow' | 'deny' | 'ask';
}

/** What a page with `useChat` sends, as far as it is looked at here. */
export interface ChatBody {
  readonly id: string;
}

/** A schema as the shape of what it lets through: the compiler compares the two. */
function shape<const Schema extends JsonSchema>(schema: Schema): Shape<InferSchema<Schema>> {
  return { ...schema };
}

const AN_ID = { type: 'string', pattern: '^[A-Za-z0-9._:~-]{1,256}$' } as const;

/** An id in a path. */
export const ID: JsonSchema = AN_ID;

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;
const TIME = { type: 'integer', minimum: 0, description: 'Milliseconds since the epoch.' } as const;

/** An object that has all of `properties` but those named as optional. */
function object<const Properties extends object, const Optional extends keyof Properties & string = never>(
  properties: Properties,
  optional: readonly Optional[] = [],
) {
  const isRequired = (name: string): boolean => !(optional as readonly string[]).includes(name);
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter(isRequired) as Exclude<keyof Properties & string, Optional>[],
    additionalProperties: false,
  } as const;
}

export const ACCESS_REQUEST: object = object({ action: TEXT, target: TEXT });

const RULE = object({ action: TEXT, target: TEXT, decision: { enum: ['allow', 'deny', 'ask'] } as const }, ['target']);
export const GATE_RULE: object = RULE;

const FILE_DATA = {
  anyOf: [
    object({ type: { const: 'data' }, data: { ...TEXT, contentEncoding: 'base64' } } as const),
    object({ type: { const: 'url' }, url: { ...TEXT, format: 'uri' } } as const),
    object({ type: { const: 'text' }, text: TEXT } as const),
  ],
} as const;

const INPUT = {
  anyOf: [
    TEXT,
    {
      type: 'array',
      items: {
        anyOf: [
          object({ type: { const: 'text' }, text: TEXT } as const),
          object({ type: { const: 'file' }, mediaType: TEXT, data: FILE_DATA, filename: TEXT } as const, ['filename']),
        ],
      },
    },
  ],
} as const;

const LIMITS = object(
  {
    ...{ iterations: COUNT, calls: COUNT, parallel: COUNT, resultBytes: COUNT, captureBytes: COUNT },
    ...{ callTimeoutMs: COUNT, turnTimeoutMs: COUNT, tokens: COUNT },
  },
  ['iterations', 'calls', 'parallel', 'resultBytes', 'captureBytes', 'callTimeoutMs', 'turnTimeoutMs', 'tokens'],
);

export const BEGIN: Shape<BeginBody> = shape(object({ loop: TEXT, mode: TEXT }, ['loop', 'mode']));
export const SUBMIT: Shape<SubmitBody> = shape(object({ input: INPUT, limits: LIMITS }, ['limits']));
export const STEER: Shape<SteerBody> = shape(object({ input: INPUT, limits: LIMITS }, ['limits']));
export const INTERRUPT: Shape<InterruptBody> = shape(
  object({ turnId: AN_ID, reason: { ...TEXT, maxLength: 1_024 } as const }, ['turnId', 'reason']),
);
export const RESUME: Shape<object> = shape(object({}));
export const MODE: Shape<ModeBody> = shape(object({ mode: TEXT }));

export const GATE_ANSWER: Shape<GateAnswerBody> = shape({
  type: 'object',
  anyOf: [
    object({ decision: { const: 'approve' } } as const),
    object({ decision: { const: 'approveAlways' }, rules: { type: 'array', items: RULE } } as const, ['rules']),
    object({ decision: { const: 'deny' }, reason: TEXT } as const, ['reason']),
    object({ decision: { const: 'edit' }, input: { type: 'object' } } as const),
  ],
} as const);

const MESSAGE = {
  type: 'object',
  description: 'A UI message of AI SDK.',
  properties: {
    id: TEXT,
    role: { enum: ['system', 'user', 'assistant'] },
    parts: { type: 'array', items: { type: 'object' } },
  },
  required: ['id', 'role', 'parts'],
} as const;

/** `useChat` may send more beside these. */
export const CHAT: Shape<ChatBody> = shape({
  type: 'object',
  properties: {
    id: AN_ID,
    messages: { type: 'array', items: MESSAGE },
    trigger: { enum: ['submit-message', 'regenerate-message'] },
    messageId: TEXT,
  },
  required: ['id', 'messages'],
} as const);

export const LOOPS: object = object({
  loops: { type: 'array', items: object({ name: TEXT, modes: { type: 'array', items: TEXT } }) },
});

const SUMMARY_FIELDS = {
  sessionId: ID,
  loop: TEXT,
  title: TEXT,
  state: { enum: ['new', 'running', 'waiting', 'damaged', 'done', 'failed', 'interrupted'] },
  turns: COUNT,
  calls: COUNT,
  createdAt: TIME,
  updatedAt: TIME,
  place: { ...TEXT, description: 'Where it stands in the list: "after" lists what stands behind it.' },
  parentId: ID,
} as const;

const SUMMARY = object(SUMMARY_FIELDS, ['parentId']);

const PENDING_GATE = object(
  {
    ...{ gateId: ID, turnId: ID, callId: TEXT, toolName: TEXT, requests: { type: 'array', items: ACCESS_REQUEST } },
    ...{ summary: TEXT, openedAt: TIME },
  },
  ['summary'],
);

export const SESSIONS: object = object({ sessions: { type: 'array', items: SUMMARY } });
export const BEGUN: object = object({ sessionId: ID });
export const DETAILS: object = object(
  {
    ...SUMMARY_FIELDS,
    ...{ mode: TEXT, lastSeq: COUNT, turnId: ID, isLive: { type: 'boolean' } },
    gates: { type: 'array', items: PENDING_GATE },
  },
  ['parentId', 'turnId'],
);
export const ACCEPTED: object = object({ turnId: ID, isNew: { type: 'boolean' } });
export const INTERRUPTED: object = object({ interrupted: { type: 'boolean' } });
export const RESUMED: object = object({ turnId: ID });
export const MESSAGES: object = object({ id: ID, messages: { type: 'array', items: MESSAGE } });
export const STATUS: object = object({ status: { enum: ['ok', 'unavailable'] } });

export const ERROR: object = object({
  error: object(
    {
      kind: { type: 'string', pattern: '^[a-z_]+$' },
      message: TEXT,
      status: { type: 'integer', minimum: 400, maximum: 599 },
      issues: { type: 'array', items: object({ path: TEXT, message: TEXT }) },
    },
    ['issues'],
  ),
});

/** Parts that the description calls by name. */
export const NAMED: Readonly<Record<string, object>> = {
  ...{ Begin: BEGIN, Submit: SUBMIT, Steer: STEER, Interrupt: INTERRUPT, Mode: MODE, GateAnswer: GATE_ANSWER },
  ...{ Input: INPUT, Limits: LIMITS, GateRule: GATE_RULE, AccessRequest: ACCESS_REQUEST, PendingGate: PENDING_GATE },
  ...{
    Chat: CHAT,
    Message: MESSAGE,
    Loops: LOOPS,
    Sessions: SESSIONS,
    SessionSummary: SUMMARY,
    SessionDetails: DETAILS,
  },
  ...{ Begun: BEGUN, Accepted: ACCEPTED, Interrupted: INTERRUPTED, Resumed: RESUMED, Messages: MESSAGES },
  ...{ Status: STATUS, Error: ERROR },
};
