/** The sessions and loops of the server, kept up to date while the page is seen. */
import { useCallback, useMemo, useState } from 'preact/hooks';
import type { LoopSummary } from '../engines/host.ts';
import type { SessionSummary } from '../session/summary.ts';
import { ApiError, type Client, sentenceOf } from './client.ts';
import { unlessSame, usePolling } from './hooks.ts';
import { SessionPages } from './session-pages.ts';

/** What is known of all sessions. */
export interface Sessions {
  /** `undefined` until they were read once. */
  readonly list: readonly SessionSummary[] | undefined;
  /** Whether the server has none behind those of the list. */
  readonly isAll: boolean;
  readonly loops: readonly LoopSummary[];
  readonly failure: string | undefined;
}

/** The sessions, and what changes which of them are known. */
export interface KnownSessions {
  readonly sessions: Sessions;
  readonly needsToken: boolean;
  /** Reads what is new. Never rejects. */
  load(): Promise<void>;
  /** Reads the next page. */
  more(): Promise<void>;
  /** Takes out a session that was deleted. */
  forget(sessionId: string): Promise<void>;
}

/** How often what is new is read. */
const LIST_MS = 5_000;

export function useSessions(client: Client): KnownSessions {
  const pages = useMemo(() => new SessionPages(page => client.sessions(page)), [client]);
  const [sessions, setSessions] = useState<Sessions>({ list: undefined, isAll: false, loops: [], failure: undefined });
  const [needsToken, setNeedsToken] = useState(false);
  const show = useCallback(
    (changes: Partial<Sessions>): void =>
      setSessions(before => unlessSame(before, { ...before, ...pages.listed, ...changes })),
    [pages],
  );
  const load = useCallback(async (): Promise<void> => {
    try {
      const [, { loops }] = await Promise.all([pages.refresh(), client.loops()]);
      setNeedsToken(false);
      show({ loops, failure: undefined });
    } catch (error) {
      setNeedsToken(error instanceof ApiError && error.status === 401);
      show({ failure: sentenceOf(error) });
    }
  }, [client, pages, show]);
  const more = useCallback(async (): Promise<void> => {
    await pages.more();
    show({});
  }, [pages, show]);
  const forget = useCallback(
    async (sessionId: string): Promise<void> => {
      await pages.forget(sessionId);
      show({});
    },
    [pages, show],
  );
  usePolling(load, LIST_MS);
  return { sessions, needsToken, load, more, forget };
}
