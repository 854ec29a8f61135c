/** Answers, with the headers that every one of them has. */
import { type HttpError, httpErrorOf, isInternal } from './http-error.ts';

/** Nothing is guessed, embedded, kept or told on. */
const GUARDS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** What is data: a browser that opens it runs nothing in it. */
const DATA: Readonly<Record<string, string>> = {
  ...GUARDS,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** The headers of a page: everything comes from the server itself, and no script stands in the page. */
export const PAGE: Readonly<Record<string, string>> = {
  ...GUARDS,
  'content-security-policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'"],
    ...["connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
};

/** An answer of data. */
export function answer(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  type: string | undefined,
  status: number = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const typed = type === undefined ? {} : { 'content-type': type };
  return new Response(body, { status, headers: { ...DATA, ...typed, ...headers } });
}

/** An answer in JSON. */
export function json(value: unknown, status: number = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return answer(JSON.stringify(value), 'application/json; charset=utf-8', status, headers);
}

/** The body of a refusal. */
export function problem({ kind, message, status, details: { issues } }: HttpError): object {
  return { error: { kind, message, status, ...(issues === undefined ? {} : { issues }) } };
}

/** The answer to a request that failed. What is the server's own matter is told to `report`. */
export function refusal(error: unknown, report: (error: unknown) => void): Response {
  const refused = httpErrorOf(error);
  if (isInternal(refused) && refused !== error) report(error);
  return json(problem(refused), refused.status, refused.details.headers);
}
