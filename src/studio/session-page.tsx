/** One session: what was said and done in it, how it stands, what waits for a person, and where to say more. */
import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LoopSummary, SessionDetails } from '../engines/host.ts';
import { Details, type DetailsHost } from '../report/components/call-details.tsx';
import { Clipped } from '../report/components/contents.tsx';
import { Icon, STATE_LOOKS } from '../report/components/icons.tsx';
import { inputText, lineText, TURN_WORDS } from '../report/model/format.ts';
import type { CallView, SessionView } from '../report/model/view.ts';
import { addressOf, titleOf } from './address.ts';
import type { Client } from './client.ts';
import { Composer } from './composer.tsx';
import { DeleteSession, Gone } from './deletion.tsx';
import { Feed } from './feed.tsx';
import { Gates, openGatesOf } from './gates.tsx';
import { useAction, useLive, useMedia, useNow } from './hooks.ts';
import { gaugesLine, Inspector } from './inspector.tsx';
import { type Connection, LiveSession } from './live-session.ts';

export function SessionPage(props: {
  readonly client: Client;
  readonly sessionId: string;
  readonly loops: readonly LoopSummary[];
  readonly reload: () => Promise<void>;
  /** Told that the session is not there, or not any more. */
  readonly onGone: () => void;
  /** Deletes the session. */
  readonly remove: () => Promise<void>;
}): VNode {
  const { client, sessionId, loops, reload, onGone, remove } = props;
  const live = useMemo(() => new LiveSession(client, sessionId), [client, sessionId]);
  useEffect(() => () => live.close(), [live]);
  const { view, details, connection, aheadMs } = useLive(live);
  const turn = view.turns.at(-1);
  const isUnderWay = turn !== undefined && turn.end === undefined;
  const gone = connection.state === 'gone' ? connection.reason : undefined;
  const isLive = isUnderWay && details?.isLive !== false && gone === undefined;
  const now = useNow(isLive, view.at, aheadMs);
  // A turn that nobody works on stands still.
  const time = isLive ? now : view.at;
  const host = useMemo(() => detailsHost(client, sessionId), [client, sessionId]);
  const modes = loops.find(({ name }) => name === details?.loop)?.modes ?? [];
  const gates = openGatesOf(view, details);
  const isWide = useMedia('(min-width: 1181px)');
  useEffect(() => void reload(), [turn?.state]);
  useEffect(() => {
    document.title = titleOf(details?.title);
  }, [details?.title]);
  useEffect(() => {
    if (gone !== undefined) onGone();
  }, [gone]);
  if (gone !== undefined && view.turns.length === 0) {
    return (
      <div class="welcome">
        <p role="status">{gone}</p>
        <a href="#/">All sessions</a>
      </div>
    );
  }
  if (connection.state === 'refused' && view.turns.length === 0) {
    return (
      <div class="welcome">
        <p class="failure" role="alert">
          {connection.reason}
        </p>
        <a href="#/">All sessions</a>
      </div>
    );
  }
  return (
    <Details.Provider value={host}>
      <div class="session-page">
        <Head view={view} details={details} connection={connection} isAsking={gates.length > 0} remove={remove} />
        {isWide ? null : (
          <details class="overview-narrow">
            <summary>{turn === undefined ? 'Limits, tokens and facts' : gaugesLine(turn, time)}</summary>
            <Inspector view={view} details={details} now={time} />
          </details>
        )}
        <Feed view={view} now={time} />
        <div class="dock">
          {gone === undefined ? (
            <>
              <Gates client={client} sessionId={sessionId} gates={gates} now={time} onAnswer={() => live.refresh()} />
              <Waiting waiting={view.waiting} />
              <Composer
                client={client}
                sessionId={sessionId}
                modes={modes}
                mode={details?.mode ?? view.mode}
                turn={turn}
                isLeft={isUnderWay && details?.isLive === false}
                onSent={() => live.refresh()}
              />
            </>
          ) : (
            <Gone reason={`${gone} What you still see of it is gone once you leave.`} />
          )}
        </div>
        {isWide ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          <aside class="inspector" aria-label="How the last turn stands" tabIndex={0}>
            <Inspector view={view} details={details} now={time} />
          </aside>
        ) : null}
      </div>
      <p class="visually-hidden" role="status">
        {announcement(view, gates.length)}
      </p>
    </Details.Provider>
  );
}

/** What was said and waits. */
function Waiting({ waiting }: { readonly waiting: SessionView['waiting'] }): VNode | null {
  if (waiting.length === 0) return null;
  return (
    <ul class="waiting" aria-label="Said, and not answered yet">
      {waiting.map(({ inputId, as, input }) => (
        <li key={inputId}>
          <Icon look="waiting" /> <span class="muted">{as === 'steer' ? 'For this turn:' : 'As the next turn:'}</span>{' '}
          {lineText(inputText(input), 160)}
        </li>
      ))}
    </ul>
  );
}

/** What is told to those who do not see the page change. */
function announcement({ turns }: SessionView, openGates: number): string {
  const turn = turns.at(-1);
  if (turn === undefined) return '';
  if (openGates > 0) return `${openGates === 1 ? 'A call waits' : `${openGates} calls wait`} for your answer.`;
  return `Turn ${turns.length}: ${TURN_WORDS[turn.state]}.`;
}

function Head(props: {
  readonly view: SessionView;
  readonly details: SessionDetails | undefined;
  readonly connection: Connection;
  readonly isAsking: boolean;
  readonly remove: () => Promise<void>;
}): VNode {
  const { view, details, connection, isAsking, remove } = props;
  const turn = view.turns.at(-1);
  const first = view.turns.map(({ input }) => inputText(input)).find(text => text !== '');
  // A turn that runs may wait all the same: in one of its delegates.
  const state = isAsking && turn?.end === undefined ? 'waiting' : (turn?.state ?? 'new');
  return (
    <header class="session-head">
      <a class="back" href="#/">
        <span class="visually-hidden">All sessions</span>
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" class="icon">
          <path d="m10.6 2.6 1.2 1.2L7.6 8l4.2 4.2-1.2 1.2L5.2 8z" />
        </svg>
      </a>
      <h2>{first === undefined ? 'A new session' : lineText(first, 160)}</h2>
      <p class="session-line">
        <span class="state">
          <Icon look={STATE_LOOKS[state] ?? 'new'} /> {state === 'new' ? 'new' : TURN_WORDS[state]}
        </span>
        {details === undefined ? null : <span class="muted">{details.loop}</span>}
        <ConnectionState connection={connection} />
      </p>
      {connection.state === 'gone' ? null : <DeleteSession remove={remove} />}
    </header>
  );
}

const CONNECTION_WORDS: Readonly<Record<Connection['state'], string>> = Object.freeze({
  ...{ connecting: 'connecting', live: 'connected', broken: 'reconnecting', refused: 'not connected', gone: 'deleted' },
});

function ConnectionState({ connection }: { readonly connection: Connection }): VNode {
  const { state } = connection;
  const reason = 'reason' in connection && state !== 'gone' ? connection.reason : undefined;
  return (
    <span class={`connection connection-${state}`} role="status" title={reason}>
      <svg viewBox="0 0 10 10" width="9" height="9" aria-hidden="true">
        {state === 'live' ? <circle cx="5" cy="5" r="4.5" /> : <path d="M5 0 10 9.5H0z" />}
      </svg>{' '}
      {CONNECTION_WORDS[state]}
      {reason === undefined ? null : <span class="connection-reason">: {reason}</span>}
    </span>
  );
}

function detailsHost(client: Client, sessionId: string): DetailsHost {
  return {
    whole: call => <Whole key={call.callId} client={client} sessionId={sessionId} call={call} />,
    child: childId => <a href={addressOf(childId)}>its own session</a>,
  };
}

/** A result that was kept whole, when it is asked for. */
function Whole(props: { readonly client: Client; readonly sessionId: string; readonly call: CallView }): VNode {
  const { client, sessionId, call } = props;
  const [text, setText] = useState<string>();
  const action = useAction();
  const id = call.capture?.id ?? '';
  if (text !== undefined) return <Clipped text={text} label={`Whole result of ${call.toolName}`} />;
  return (
    <p>
      <button
        type="button"
        disabled={action.isBusy}
        onClick={() => void action.run(async () => setText(await client.capture(sessionId, id)))}
      >
        Show what was kept
      </button>
      {action.failure === undefined ? null : (
        <span class="failure" role="alert">
          {action.failure}
        </span>
      )}
    </p>
  );
}
