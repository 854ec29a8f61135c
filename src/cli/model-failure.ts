/** A model that gave no answer, in one sentence with advice: who was asked, what came of it, and what to look at. */
import type { ModelError } from '../index.ts';
import type { Remote } from './models.ts';

/** A provider's message may be a page. */
const MOST_CHARACTERS = 300;

/** A message in a sentence: without its full stop, cut where it is a page. */
export function shortened(message: string): string {
  const text = message.trim().replace(/\.$/, '');
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}

/** Why the model gave no answer and what to do; `remote` is who was asked. */
export function explainModelFailure(error: ModelError, remote: Remote | undefined): string {
  if (remote === undefined) return shortened(error.message);
  const { provider } = remote;
  const { status, message, code, origin } = readCause(error.cause);
  const tries = error.attempts > 1 ? `, in ${error.attempts} tries` : '';
  const look = remote.addressFrom === undefined ? '' : `, or check the address in ${remote.addressFrom}`;
  if (error.kind === 'empty_response') return `${shortened(error.message)}: ask again, or another model${look}`;
  if (status !== undefined && status >= 400) return refused(remote, status, `${status}: ${message}`, tries);
  if (status !== undefined && origin !== undefined) {
    return `the response from ${origin} could not be read${tries} (${message}): try again${look}`;
  }
  if (error.kind === 'request_failed' && origin !== undefined) return unreached(remote, origin, code, message, tries);
  if (error.kind === 'stream_broken')
    return `the response of ${provider} broke off${tries} (${message}): try again${look}`;
  return `${provider} gave no answer${tries} (${message}): try again later`;
}

function refused(remote: Remote, status: number, said: string, tries: string): string {
  const { provider, keyVariable, name } = remote;
  // One provider says 400 of a key that it does not know.
  if (status === 401 || status === 403 || (status === 400 && /\bapi[ _-]?key\b/i.test(said))) {
    return `${provider} refused the request (${said}): check the key in ${keyVariable}`;
  }
  if (status === 404)
    return `${provider} found nothing (${said}): check the name of the model, ${name}${address(remote)}`;
  if (status === 429) {
    return `${provider} takes no more requests now${tries} (${said}): wait a while, or see what the account of the key allows`;
  }
  if (status >= 500) return `${provider} has a fault of its own${tries} (${said}): try again later`;
  return `${provider} refused the request${tries} (${said})`;
}

function address({ addressFrom }: Remote): string {
  return addressFrom === undefined ? '' : `, and the address in ${addressFrom}`;
}

function unreached(remote: Remote, origin: string, code: string, message: string, tries: string): string {
  const look = remote.addressFrom === undefined ? 'check the network' : `check the address in ${remote.addressFrom}`;
  if (code === 'ECONNREFUSED')
    return `nothing answers at ${origin}${tries}: ${look}, or start what should answer there`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host of ${origin} is not to be found${tries}: ${look}`;
  return `${origin} cannot be reached${tries} (${message}): ${look}`;
}

/** What a provider's error tells. */
interface Cause {
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  readonly message: string;
  /** The platform's code of a network failure; empty where there is none. */
  readonly code: string;
  /** Where the request went. */
  readonly origin: string | undefined;
}

function readCause(cause: unknown): Cause {
  const status = field(cause, 'statusCode');
  const url = field(cause, 'url');
  return {
    status: typeof status === 'number' ? status : undefined,
    message: plainReason(textOf(cause)),
    code: codeOf(cause),
    origin: typeof url === 'string' ? (URL.parse(url)?.origin ?? undefined) : undefined,
  };
}

function textOf(cause: unknown): string {
  const message =
    typeof cause === 'string' ? cause : (field(cause, 'message') ?? field(field(cause, 'error'), 'message'));
  return typeof message === 'string' && message.trim() !== '' ? message : 'no reason was given';
}

/** Errors wrap each other; the platform's is the innermost. */
function codeOf(cause: unknown): string {
  for (let at = cause, depth = 0; at !== undefined && depth < 5; at = field(at, 'cause'), depth++) {
    const code = field(at, 'code');
    if (typeof code === 'string' && /^E[A-Z_]+$/.test(code)) return code;
  }
  return '';
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** What provider packages say of a network, and what it means to a person. */
const PLAIN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Failed to process successful response\.?$/i, 'the response broke off'],
  [/^(?:terminated|fetch failed)$/i, 'the connection broke off'],
  [/^Cannot connect to API: /i, ''],
];

/** A provider's reason, for a sentence. */
export function plainReason(reason: string): string {
  return shortened(PLAIN_WORDS.reduce((text, [pattern, words]) => text.replace(pattern, words), reason.trim()));
}
