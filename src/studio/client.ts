/** What the studio asks of its server. Every failure is an `ApiError` with one sentence for a person. */
import type { LoopSummary, SessionDetails } from '../engines/host.ts';
import { reasonOf } from '../reason.ts';
import type { GateAnswer } from '../session/gate-answer.ts';
import type { SessionSummary } from '../session/summary.ts';
import type { PageOptions } from './session-pages.ts';

/** Why a request failed. `unreachable` is for one without an answer. */
export class ApiError extends Error {
  readonly kind: string;
  readonly status: number;

  constructor(kind: string, message: string, status: number) {
    super(message);
    this.name = 'ApiError';
    this.kind = kind;
    this.status = status;
  }
}

/** Whether a request failed because its session is not there, or not any more. */
export function isUnknownSession(error: unknown): boolean {
  return error instanceof ApiError && error.kind === 'unknown_session';
}

/** How a failure is told. */
export function sentenceOf(error: unknown): string {
  return reasonOf(error, 'Something failed.');
}

/** An id for a request that may have to be made again. A page that came without encryption has no `crypto.randomUUID`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}

interface Options {
  readonly method?: string;
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Client {
  readonly #token: () => string | undefined;

  constructor(token: () => string | undefined) {
    this.#token = token;
  }

  loops(): Promise<{ readonly loops: readonly LoopSummary[] }> {
    return this.#json('v1/loops');
  }

  async sessions({ limit, after }: PageOptions): Promise<readonly SessionSummary[]> {
    const query = new URLSearchParams({ limit: String(limit), ...(after === undefined ? {} : { after }) });
    const { sessions } = await this.#json<{ readonly sessions: readonly SessionSummary[] }>(`v1/sessions?${query}`);
    return sessions;
  }

  begin(loop: string | undefined): Promise<{ readonly sessionId: string }> {
    return this.#json('v1/sessions', { method: 'POST', body: loop === undefined ? {} : { loop } });
  }

  details(sessionId: string): Promise<SessionDetails> {
    return this.#json(`${pathOf(sessionId)}`);
  }

  /** Deletes a session; one that somebody else has deleted is gone too. */
  async remove(sessionId: string): Promise<void> {
    try {
      await this.#request(pathOf(sessionId), { method: 'DELETE' });
    } catch (error) {
      if (!isUnknownSession(error)) throw error;
    }
  }

  submit(sessionId: string, input: string, key: string): Promise<{ readonly turnId: string }> {
    return this.#json(`${pathOf(sessionId)}/turns`, { method: 'POST', body: { input }, key });
  }

  steer(sessionId: string, input: string, key: string): Promise<{ readonly turnId: string }> {
    return this.#json(`${pathOf(sessionId)}/steer`, { method: 'POST', body: { input }, key });
  }

  interrupt(sessionId: string, turnId: string): Promise<{ readonly interrupted: boolean }> {
    return this.#json(`${pathOf(sessionId)}/interrupt`, { method: 'POST', body: { turnId } });
  }

  resume(sessionId: string): Promise<{ readonly turnId: string }> {
    return this.#json(`${pathOf(sessionId)}/resume`, { method: 'POST', body: {} });
  }

  setMode(sessionId: string, mode: string): Promise<{ readonly mode: string }> {
    return this.#json(`${pathOf(sessionId)}/mode`, { method: 'PUT', body: { mode } });
  }

  async answer(sessionId: string, gateId: string, answer: GateAnswer): Promise<void> {
    await this.#request(`${pathOf(sessionId)}/gates/${encodeURIComponent(gateId)}`, { method: 'POST', body: answer });
  }

  /** A result that was kept whole. */
  async capture(sessionId: string, id: string): Promise<string> {
    return (await this.#request(`${pathOf(sessionId)}/captures/${encodeURIComponent(id)}`)).text();
  }

  /** The stream of a session's events, after the one with the number `after`. */
  events(sessionId: string, after: number, signal: AbortSignal): Promise<Response> {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(after) };
    return this.#request(`${pathOf(sessionId)}/events`, { headers, signal });
  }

  async #json<Answer>(path: string, options: Options = {}): Promise<Answer> {
    return (await (await this.#request(path, options)).json()) as Answer;
  }

  async #request(path: string, options: Options = {}): Promise<Response> {
    const { method = 'GET', body, key, headers = {}, signal } = options;
    const token = this.#token();
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError('unreachable', 'The server does not answer.', 0);
    }
    if (response.ok) return response;
    throw await failureOf(response);
  }
}

function pathOf(sessionId: string): string {
  return `v1/sessions/${encodeURIComponent(sessionId)}`;
}

async function failureOf(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as {
      readonly error: { readonly kind: string; readonly message: string };
    };
    return new ApiError(error.kind, error.message, status);
  } catch {
    return new ApiError('unreadable', `The server answered with status ${status}.`, status);
  }
}
