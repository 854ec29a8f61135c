/** All sessions, the last written first: what they are about, how they stand, and the way to a new one. */

import type { RefObject, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LoopSummary } from '../engines/host.ts';
import { Icon, STATE_LOOKS } from '../report/components/icons.tsx';
import { ageText, counted } from '../report/model/format.ts';
import type { SessionSummary } from '../session/summary.ts';
import { addressOf } from './address.ts';
import type { Client } from './client.ts';
import { Failure } from './failure.tsx';
import { useAction } from './hooks.ts';
import { Time } from './time.tsx';
import type { Sessions } from './use-sessions.ts';

const STATE_WORDS: Readonly<Record<SessionSummary['state'], string>> = Object.freeze({
  ...{ new: 'new', running: 'running', waiting: 'waits for you', damaged: 'damaged' },
  ...{ done: 'done', failed: 'failed', interrupted: 'interrupted' },
});

export function SessionList(props: {
  readonly client: Client;
  readonly sessions: Sessions;
  readonly current: string | undefined;
  readonly reload: () => Promise<void>;
  readonly more: () => Promise<void>;
}): VNode {
  const { client, sessions, current, reload, more } = props;
  const [filter, setFilter] = useState('');
  const list = sessions.list ?? [];
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter(session => {
    const text = `${session.title} ${session.loop} ${STATE_WORDS[session.state]} ${session.sessionId}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const isFiltered = words.length > 0;
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
      <Failure why={sessions.failure} />
      <p class="visually-hidden" role="status">
        {isFiltered ? counted(found.length, 'session') : ''}
      </p>
      <div class="sessions">
        <ul>
          {found.map(session => (
            <Item key={session.sessionId} session={session} isCurrent={session.sessionId === current} />
          ))}
        </ul>
        {sessions.list === undefined ? null : (
          <ListEnd sessions={sessions} found={found} isFiltered={isFiltered} more={more} />
        )}
      </div>
    </>
  );
}

/** What stands behind the last session of the list: that there is none, or the way to more. */
function ListEnd(props: {
  readonly sessions: Sessions;
  readonly found: readonly SessionSummary[];
  readonly isFiltered: boolean;
  readonly more: () => Promise<void>;
}): VNode {
  const { sessions, found, isFiltered, more } = props;
  const action = useAction();
  const { end, keep } = useFirstNew(found, action.isBusy);
  const listed = counted(sessions.list?.length ?? 0, 'session');
  const none = isFiltered ? 'No session fits the filter.' : 'There is no session yet.';
  const soFar = isFiltered
    ? `Of the last ${listed}, ${found.length === 0 ? 'none fits' : 'these fit'} the filter.`
    : '';
  const note = sessions.isAll ? (found.length === 0 ? none : '') : soFar;
  const read = async (): Promise<void> => {
    if (action.isBusy) return;
    keep();
    await action.run(more);
  };
  return (
    <div class="list-end" ref={end} tabIndex={-1}>
      {note === '' ? null : <p class="note">{note}</p>}
      {sessions.isAll ? null : (
        // Not disabled while it reads: it would lose the focus.
        <button type="button" aria-disabled={action.isBusy} onClick={() => void read()}>
          {isFiltered ? 'Look through older ones' : 'Show older sessions'}
        </button>
      )}
      <Failure why={action.failure} />
    </div>
  );
}

/** Whoever asked for more goes on at the first session that came; where none did and the button is gone, at the end of the list. */
function useFirstNew(found: readonly SessionSummary[], isBusy: boolean): FirstNew {
  const end = useRef<HTMLDivElement>(null);
  const known = useRef<ReadonlySet<string>>(undefined);
  useLayoutEffect(() => {
    if (isBusy || known.current === undefined) return;
    const isKnown = ({ sessionId }: SessionSummary): boolean => known.current?.has(sessionId) === true;
    const first = found[found.findLastIndex(isKnown) + 1];
    known.current = undefined;
    if (first !== undefined) focusSession(first.sessionId);
    else if (end.current?.querySelector('button') === null) end.current.focus();
  }, [isBusy]);
  return {
    end,
    keep() {
      known.current = new Set(found.map(({ sessionId }) => sessionId));
    },
  };
}

interface FirstNew {
  readonly end: RefObject<HTMLDivElement | null>;
  /** Notes what is there before more comes. */
  keep(): void;
}

/** Puts the focus on a session of the list, or above them where it is not shown. */
export function focusSession(sessionId: string | undefined): void {
  const links = document.querySelectorAll<HTMLAnchorElement>('a.session');
  const href = sessionId === undefined ? undefined : addressOf(sessionId);
  const link = [...links].find(one => one.getAttribute('href') === href);
  (link ?? document.getElementById('filter'))?.focus();
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
          <span class="session-age">
            <Time at={updatedAt}>{ageText(Date.now() - updatedAt)}</Time>
          </span>
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
      <Failure why={action.failure} />
    </form>
  );
}
