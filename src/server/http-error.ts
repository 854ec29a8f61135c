/** What a request is refused with: a status, a kind to switch on, and one sentence for a person. */

import type { SchemaIssue } from '../define/schema.ts';
import {
  DefinitionError,
  GateError,
  JournalError,
  LooprigError,
  SessionError,
  type SessionErrorKind,
} from '../index.ts';
import { ServerError } from './errors.ts';

/** The statuses of errors. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 406 | 409 | 413 | 415 | 422 | 500 | 501 | 503;

/** What else an error answers. */
export interface HttpErrorDetails {
  /** What did not fit, place by place. */
  readonly issues?: readonly SchemaIssue[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal. Its message goes to whoever asked: it holds no secret, no path and no stack. */
export class HttpError extends Error {
  readonly status: ErrorStatus;
  readonly kind: string;
  readonly details: HttpErrorDetails;

  constructor(status: ErrorStatus, kind: string, message: string, details: HttpErrorDetails = {}) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.details = details;
  }
}

/** For how many seconds a client should wait that was told to come again. */
const RETRY_AFTER_SECONDS = '2';

/** The refusal for whatever was thrown. What is not known to be for everybody's eyes is told by its kind alone. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (ServerError.is(error) && error.kind === 'missing_package') {
    return new HttpError(501, error.kind, error.message);
  }
  if (JournalError.is(error)) return journalError(error.kind);
  const status = statusOf(error);
  if (status === undefined || !LooprigError.is(error)) {
    return new HttpError(500, 'internal', 'the server failed: what happened is told on its side alone');
  }
  return new HttpError(status, error.kind, error.message, status === 503 ? again() : {});
}

/** Whether an error is the server's own matter, and nobody else is told what it was. */
export function isInternal({ status }: HttpError): boolean {
  return status === 500 || status === 503;
}

/** Headers that ask to come again. */
export function again(): HttpErrorDetails {
  return { headers: { 'retry-after': RETRY_AFTER_SECONDS } };
}

/** Messages of stores name files and servers. */
function journalError(kind: string): HttpError {
  if (kind === 'conflict') {
    return new HttpError(409, kind, 'another program writes to this session: send the request again');
  }
  if (kind === 'invalid_place') {
    return new HttpError(422, kind, '"after" must be the "place" of a session that was listed');
  }
  if (kind === 'deleted') return new HttpError(404, 'unknown_session', 'the session was deleted');
  if (kind === 'damaged') return new HttpError(500, kind, 'what is stored of this session is not what was written');
  return new HttpError(503, 'store_failed', 'the store of the sessions does not answer: try again later', again());
}

function statusOf(error: unknown): ErrorStatus | undefined {
  if (GateError.is(error)) return GATE_STATUS[error.kind];
  if (SessionError.is(error)) return SESSION_STATUS[error.kind as SessionErrorKind];
  if (DefinitionError.is(error) && error.kind === 'invalid_tool_limits') return 422;
  return undefined;
}

const GATE_STATUS: Readonly<Record<GateError['kind'], ErrorStatus>> = {
  unknown_gate: 404,
  closed_gate: 409,
  invalid_answer: 422,
};

const SESSION_STATUS: Readonly<Record<SessionErrorKind, ErrorStatus>> = {
  unknown_session: 404,
  busy: 409,
  nothing_to_continue: 409,
  nothing_to_resume: 409,
  drift: 409,
  unknown_loop: 422,
  unknown_mode: 422,
  invalid_input: 422,
  invalid_option: 422,
  idempotency_key_reused: 422,
  closed: 503,
  released: 503,
};
