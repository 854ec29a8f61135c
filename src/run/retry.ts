/** Whether a failed model request is worth another try, how long to wait before it, and what to say of it. */
import { messageOf } from './result.ts';

/** The first wait, doubled for each try after it, and the longest one. With jitter a wait is between half of it and all of it. */
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/** The longest `retry-after` that is waited for; a provider that asks for more has refused. */
const LONGEST_RETRY_AFTER_MS = 300_000;

/** HTTP statuses that say "not now": time-out, conflict, too early, too many requests, and the server's own faults. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Error types that providers send inside a stream for faults that pass. */
const PASSING_TYPES = /overloaded|rate_limit|api_error|server_error|timeout|unavailable/i;

/** The name that the packages of providers give to an error about a part of a response that is not as they know it; `value` is the part. */
const UNREADABLE = 'AI_TypeValidationError';

/** Network failures, by the code that the platform gives them: of systems, of Node's streams, of Bun. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENETUNREACH', 'EHOSTUNREACH'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'ERR_STREAM_PREMATURE_CLOSE'],
  ...['ConnectionClosed', 'ConnectionRefused', 'FailedToOpenSocket'],
]);

/** The same, of Node's HTTP client and of its HTTP/2, which have many. */
const NETWORK_CODE_STARTS = /^(UND_ERR|ERR_HTTP2)_/;

/** What platforms say of a request or a response that the network lost, all of them in a `TypeError`. */
const NETWORK_MESSAGES =
  /^(fetch failed|terminated|failed to fetch|network error|load failed|networkerror when attempting to fetch resource\.?)$/i;

/**
 * Milliseconds to wait before the next attempt, or `undefined` if there is to be none. `attempt` counts from 1, `random` is
 * a number from 0 to 1, `now` the clock's time (for a `retry-after` that is a date).
 */
export function retryDelay(
  failure: { readonly kind: string; readonly cause: unknown },
  attempt: number,
  retries: number,
  random: number,
  now: number,
): number | undefined {
  if (attempt > retries || !isRetryable(failure)) return undefined;
  const asked = retryAfterMs(failure.cause, now);
  if (asked !== undefined) return asked <= LONGEST_RETRY_AFTER_MS ? asked : undefined;
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return Math.round(delay * (0.5 + random / 2));
}

function isRetryable({ kind, cause }: { readonly kind: string; readonly cause: unknown }): boolean {
  const said = field(cause, 'isRetryable');
  const status = statusOf(cause);
  // Packages decide by the status alone; a body that was lost on its way has a good one.
  if (said === false && status !== undefined && status < 300) return isNetworkError(cause, 0);
  if (typeof said === 'boolean') return said;
  if (kind === 'provider_error') return true;
  const unread = field(cause, 'name') === UNREADABLE ? field(cause, 'value') : undefined;
  // A whole part that a package does not know will be the same again, unless it is the provider's error in a shape of its own.
  if (typeof unread === 'object' && unread !== null) return isPassing(unread) === true;
  if (status === undefined && isNetworkError(cause, 0)) return true;
  // A stream that was under way and broke without a word is a connection that went away.
  return isPassing(cause) ?? kind === 'stream_broken';
}

/** Whether what a provider says of its error is that it passes; `undefined` where it says nothing. */
function isPassing(cause: unknown): boolean | undefined {
  const status = statusOf(cause);
  if (status !== undefined) return PASSING_STATUSES.has(status) || status >= 500;
  const words = errorWords(cause);
  return words.length > 0 ? words.some(word => PASSING_TYPES.test(word)) : undefined;
}

/** The HTTP status: of the response, or what an error in the middle of a stream has as its code. */
function statusOf(cause: unknown): number | undefined {
  const status = field(cause, 'statusCode') ?? field(cause, 'status');
  if (typeof status === 'number') return status;
  const code = field(cause, 'code') ?? field(field(cause, 'error'), 'code');
  const told = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof told === 'number' && told >= 400 && told < 600 ? told : undefined;
}

/** The words that a provider has for its error. Some say it in the type, some in the code, some a step further down. */
function errorWords(cause: unknown): readonly string[] {
  const nested = field(cause, 'error');
  const words = [cause, nested].flatMap(error => [field(error, 'type'), field(error, 'code')]);
  return words.filter(word => typeof word === 'string');
}

function isNetworkError(cause: unknown, depth: number): boolean {
  if (typeof cause !== 'object' || cause === null || depth > 4) return false;
  const code = field(cause, 'code');
  if (typeof code === 'string' && (NETWORK_CODES.has(code) || NETWORK_CODE_STARTS.test(code))) return true;
  const name = field(cause, 'name');
  if (name === 'TimeoutError' || name === 'AbortError') return true; // the provider's own: ours ends the turn before this is asked
  const message = field(cause, 'message');
  if (name === 'TypeError' && typeof message === 'string' && NETWORK_MESSAGES.test(message)) return true;
  return isNetworkError(field(cause, 'cause'), depth + 1);
}

function retryAfterMs(cause: unknown, now: number): number | undefined {
  const headers = field(cause, 'responseHeaders');
  const exact = field(headers, 'retry-after-ms');
  if (isDecimal(exact)) return Number(exact);
  const asked = field(headers, 'retry-after');
  if (isDecimal(asked)) return Number(asked) * 1_000;
  const date = typeof asked === 'string' && DATE.test(asked) ? Date.parse(asked) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** A date of HTTP, or one of ISO. `Date.parse` would take much else for one, and for a year long past. */
const DATE = /^\s*([a-z]{3,9},? |\d{4}-\d\d-\d\dT)/i;

function isDecimal(header: unknown): header is string {
  return typeof header === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(header);
}

function field(value: unknown, name: string): unknown {
  try {
    return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  } catch {
    return undefined;
  }
}

/** What packages say where they know no more than that something failed. HTTP/2 has no text for a status. */
const SAYS_NOTHING = /^\s*(Failed to process (successful|error) response)?\s*$/;

/** What failed, in a sentence: what the provider said of it, else the response's status and the first thing that went wrong. */
export function failureText(cause: unknown): string {
  const said = field(cause, 'message');
  if (typeof said !== 'string' || !SAYS_NOTHING.test(said)) return messageOf(cause);
  const status = statusOf(cause);
  const reason = rootOf(cause, 0);
  const known = [
    ...(status === undefined ? [] : [`HTTP status ${status}`]),
    ...(reason === cause ? [] : [`the response could not be read (${messageOf(reason)})`]),
  ];
  return known.length === 0 ? messageOf(cause) : known.join(', ');
}

function rootOf(cause: unknown, depth: number): unknown {
  const deeper = field(cause, 'cause');
  return deeper === undefined || deeper === null || depth > 4 ? cause : rootOf(deeper, depth + 1);
}
