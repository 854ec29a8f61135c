/** All sessions, the last written first: what they are about, how they stand, and the way to a new one. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LoopSummary } from '../engines/host.ts';
import { Icon, STATE_LOOKS } from '../report/components/icons.tsx';
import { ageText, counted } from '../report/model/format.ts';
import type { SessionSummary } from '../session/summary.ts';
import { addressOf } from './address.ts';
import type { Client } from './client.ts';
import { useAction } from './hooks.ts';

/** What is known of all sessions. */
export interface Sessions {
  /** `undefined` until they were read once. */
  readonly list: readonly SessionSummary[] | undefined;
  readonly loops: readonly LoopSummary[];
  readonly failure: string | undefined;
}

const STATE_WORDS: Readonly<Record<SessionSummary['state'], string>> = Object.freeze({
  ...{ new: 'new', running: 'running', waiting: 'waits for you', damaged: 'damaged' },
  ...{ done: 'done', failed: 'failed', interrupted: 'interrupted' },
});

/** More than this are not drawn: the filter finds the others. */
const MOST_SHOWN = 200;

export function SessionList(props: {
  readonly client: Client;
  readonly sessions: Sessions;
  readonly current: string | undefined;
  readonly reload: () => Promise<void>;
}): VNode {
  const { client, sessions, current, reload } = props;
  const [filter, setFilter] = useState('');
  const list = sessions.list ?? [];
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter(session => {
    const text = `${session.title} ${session.loop} ${STATE_WORDS[session.state]} ${session.sessionId}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const shown = found.slice(0, MOST_SHOWN);
  return (
    <>
      <NewSession client={client} loops={sessions.loops} reload={reload} />
      <div class="filter">
        <label class="visually-hidden" for="filter">
          Filter sessions
        </label>
        <input
          id="filter"
          type="search"
          placeholder="Filter by title, loop or state"
          value={filter}
          onInput={event => setFilter(event.currentTarget.value)}
        />
      </div>
      {sessions.failure === undefined ? null : (
        <p class="failure" role="alert">
          {sessions.failure}
        </p>
      )}
      <p class="visually-hidden" role="status">
        {words.length === 0 ? '' : counted(found.length, 'session')}
      </p>
      {sessions.list !== undefined && found.length === 0 ? (
        <p class="note side-note">{list.length === 0 ? 'There is no session yet.' : 'No session fits the filter.'}</p>
      ) : null}
      <ul class="sessions">
        {shown.map(session => (
          <Item key={session.sessionId} session={session} isCurrent={session.sessionId === current} />
        ))}
      </ul>
      {found.length > shown.length ? (
        <p class="note side-note">{found.length - shown.length} more: use the filter.</p>
      ) : null}
    </>
  );
}

function Item({ session, isCurrent }: { readonly session: SessionSummary; readonly isCurrent: boolean }): VNode {
  const { sessionId, state, title, loop, turns, calls, updatedAt } = session;
  return (
    <li>
      <a class="session" href={addressOf(sessionId)} aria-current={isCurrent ? 'page' : undefined}>
        <span class="session-title">{title === '' ? 'Nothing said yet' : title}</span>
        <span class="session-facts">
          <span class={`session-state session-${state}`}>
            <Icon look={STATE_LOOKS[state] ?? 'new'} /> {STATE_WORDS[state]}
          </span>
          <span class="session-age">{ageText(Date.now() - updatedAt)}</span>
        </span>
        <span class="session-facts muted">
          <span class="session-loop">{loop}</span>
          <span>
            {counted(turns, 'turn')} · {counted(calls, 'call')}
          </span>
        </span>
      </a>
    </li>
  );
}

function NewSession(props: {
  readonly client: Client;
  readonly loops: readonly LoopSummary[];
  readonly reload: () => Promise<void>;
}): VNode {
  const { client, loops, reload } = props;
  const [chosen, setChosen] = useState<string>();
  const action = useAction();
  const loop = chosen ?? loops[0]?.name;
  const begin = (event: Event): void => {
    event.preventDefault();
    void action.run(async () => {
      const { sessionId } = await client.begin(loop);
      location.hash = addressOf(sessionId);
      await reload();
    });
  };
  return (
    <form class="new-session" onSubmit={begin}>
      {loops.length < 2 ? null : (
        <>
          <label class="visually-hidden" for="loop">
            Loop
          </label>
          <select id="loop" value={loop} onChange={event => setChosen(event.currentTarget.value)}>
            {loops.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </>
      )}
      <button type="submit" disabled={action.isBusy || loops.length === 0}>
        New session
      </button>
      {action.failure === undefined ? null : (
        <p class="failure" role="alert">
          {action.failure}
        </p>
      )}
    </form>
  );
}
