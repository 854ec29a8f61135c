/** Where a person says something: a new turn, a word to the one that runs, an end to it; and where one that was left is taken up. */

import type { VNode } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import type { TurnView } from '../report/model/view.ts';
import { type Client, newKey } from './client.ts';
import { Failure } from './failure.tsx';
import { useAction } from './hooks.ts';

export function Composer(props: {
  readonly client: Client;
  readonly sessionId: string;
  /** Of its loop; the base mode is `""`. */
  readonly modes: readonly string[];
  readonly mode: string;
  readonly turn: TurnView | undefined;
  /** Its turn was left unfinished by a process that is gone. */
  readonly isLeft: boolean;
  readonly onSent: () => Promise<void>;
}): VNode {
  const { client, sessionId, modes, mode, turn, isLeft, onSent } = props;
  const [text, setText] = useState('');
  const action = useAction();
  const id = useId();
  const attempt = useRef<{ readonly text: string; readonly as: string; readonly key: string } | undefined>(undefined);
  const isRunning = turn !== undefined && turn.end === undefined && !isLeft;

  /** What is sent again after a failure is the same request, so that it counts once. */
  const send = async (as: 'submit' | 'steer'): Promise<void> => {
    const said = text.trim();
    if (said === '' || action.isBusy) return;
    const last = attempt.current;
    const key = last?.text === said && last.as === as ? last.key : newKey();
    attempt.current = { text: said, as, key };
    if (await action.run(() => client[as](sessionId, said, key))) {
      attempt.current = undefined;
      setText('');
      void onSent();
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send(isRunning ? 'steer' : 'submit');
  };
  const act = (work: () => Promise<unknown>): void => void action.run(work).then(() => onSent());

  return (
    <form
      class="composer"
      onSubmit={event => {
        event.preventDefault();
        void send(isRunning ? 'steer' : 'submit');
      }}
    >
      {isLeft ? (
        <div class="left-turn">
          <span>The process that ran this turn is gone. Go on with it, or say something else.</span>
          <button
            type="button"
            class="primary"
            disabled={action.isBusy}
            onClick={() => act(() => client.resume(sessionId))}
          >
            Resume the turn
          </button>
        </div>
      ) : null}
      <label class="visually-hidden" for={id}>
        {isRunning ? 'Say something to the running turn' : 'Message'}
      </label>
      <textarea
        id={id}
        rows={2}
        value={text}
        placeholder={isRunning ? 'Say something to the running turn' : 'Say what to do'}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div class="composer-row">
        {modes.length < 2 ? null : (
          <label class="mode">
            <span class="muted">Mode</span>
            <select
              value={mode}
              disabled={action.isBusy}
              onChange={event => {
                const chosen = event.currentTarget.value;
                act(() => client.setMode(sessionId, chosen));
              }}
            >
              {modes.map(name => (
                <option key={name} value={name}>
                  {name === '' ? 'base' : name}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="muted composer-hint">Enter sends, Shift+Enter begins a line</span>
        {isRunning ? (
          <>
            <button
              type="button"
              class="danger"
              disabled={action.isBusy}
              onClick={() => act(() => client.interrupt(sessionId, turn.turnId))}
            >
              Interrupt
            </button>
            <button type="button" disabled={action.isBusy || text.trim() === ''} onClick={() => void send('submit')}>
              Queue as next
            </button>
            <button type="submit" class="primary" disabled={action.isBusy || text.trim() === ''}>
              Steer
            </button>
          </>
        ) : (
          <button type="submit" class="primary" disabled={action.isBusy || text.trim() === ''}>
            Send
          </button>
        )}
      </div>
      <Failure why={action.failure} />
    </form>
  );
}
