/** The page: sessions at the side, one of them in the middle, and the way from one to the other in the address. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Patterns } from '../report/components/icons.tsx';
import { idInAddress, titleOf } from './address.ts';
import type { Client } from './client.ts';
import { useAction } from './hooks.ts';
import { focusSession, SessionList } from './session-list.tsx';
import { SessionPage } from './session-page.tsx';
import { nextTheme, storedTheme } from './theme.ts';
import { keepToken } from './token.ts';
import { type Sessions, useSessions } from './use-sessions.ts';

export function App({ client }: { readonly client: Client }): VNode {
  const sessionId = useSessionId();
  const { sessions, needsToken, load, more, forget } = useSessions(client);
  const { told, leave } = useLeaving(sessionId, sessions.list);
  useEffect(() => {
    if (sessionId === undefined) document.title = titleOf(undefined);
  }, [sessionId]);
  if (needsToken) return <TokenForm onToken={load} />;
  return (
    <div class={`studio ${sessionId === undefined ? 'at-list' : 'at-session'}`}>
      <Patterns />
      <button type="button" class="skip" onClick={toSession}>
        Skip to the session
      </button>
      <nav class="side" aria-label="Sessions">
        <header class="side-head">
          <h1>
            <a href="#/">looprig studio</a>
          </h1>
          <ThemeButton />
        </header>
        <SessionList client={client} sessions={sessions} current={sessionId} reload={load} more={more} />
      </nav>
      <main id="session" tabIndex={-1}>
        {sessionId === undefined ? (
          <Welcome />
        ) : (
          <SessionPage
            key={sessionId}
            client={client}
            sessionId={sessionId}
            loops={sessions.loops}
            reload={load}
            onGone={() => void forget(sessionId)}
            remove={async () => {
              await client.remove(sessionId);
              leave();
              await forget(sessionId);
            }}
          />
        )}
      </main>
      <p class="visually-hidden" role="status">
        {told}
      </p>
    </div>
  );
}

interface Leaving {
  /** What is told to those who do not see the page change. */
  readonly told: string;
  leave(): void;
}

/** After a session was deleted: its place in the list is that of the next one, and there the focus goes. */
function useLeaving(sessionId: string | undefined, list: Sessions['list'] = []): Leaving {
  const next = useRef<{ readonly sessionId: string | undefined }>(undefined);
  const [told, setTold] = useState('');
  useEffect(() => {
    if (sessionId !== undefined) return setTold('');
    if (next.current === undefined) return;
    focusSession(next.current.sessionId);
    next.current = undefined;
    setTold('The session was deleted.');
  }, [sessionId]);
  return {
    told,
    leave() {
      const at = list.findIndex(session => session.sessionId === sessionId);
      next.current = { sessionId: (list[at + 1] ?? list[at - 1])?.sessionId };
      location.hash = '#/';
    },
  };
}

/** No link: the address says which session is shown, not where in the page. */
function toSession(): void {
  document.getElementById('session')?.focus();
}

function useSessionId(): string | undefined {
  const [sessionId, setSessionId] = useState(idInAddress);
  useEffect(() => {
    const read = (): void => setSessionId(idInAddress());
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return sessionId;
}

function ThemeButton(): VNode {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <button type="button" class="quiet" onClick={() => setTheme(nextTheme(theme))}>
      <span class="visually-hidden">Theme: </span>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" class="icon">
        {theme === 'light' ? (
          <path d="M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M7.2 0h1.6v2.6H7.2zm0 13.4h1.6V16H7.2zM0 7.2h2.6v1.6H0zm13.4 0H16v1.6h-2.6z" />
        ) : theme === 'dark' ? (
          <path d="M6 1.5A6.6 6.6 0 1 0 14.5 10 5.6 5.6 0 0 1 6 1.5" />
        ) : (
          <path d="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1m0 1.6v10.8A5.4 5.4 0 0 1 8 2.6" fill-rule="evenodd" />
        )}
      </svg>
      <span class="theme-word">{theme === 'auto' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark'}</span>
    </button>
  );
}

function Welcome(): VNode {
  return (
    <div class="welcome">
      <p>Choose a session, or begin a new one.</p>
    </div>
  );
}

function TokenForm({ onToken }: { readonly onToken: () => Promise<void> }): VNode {
  const [token, setToken] = useState('');
  const action = useAction();
  const submit = (event: Event): void => {
    event.preventDefault();
    keepToken(token.trim());
    void action.run(onToken);
  };
  return (
    <main class="welcome">
      <form class="token" onSubmit={submit}>
        <h1>looprig studio</h1>
        <p>This server asks for its token. It stays in this tab.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={event => setToken(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={token.trim() === '' || action.isBusy}>
          Go on
        </button>
      </form>
    </main>
  );
}
