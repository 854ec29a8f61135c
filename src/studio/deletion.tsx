/** Deleting a session: asked for, and asked again. And what is said of one that is gone. */

import type { VNode } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './client.ts';
import { Failure } from './failure.tsx';
import { useAction } from './hooks.ts';

/** The button, and the question that it opens; `remove` deletes the session. */
export function DeleteSession({ remove }: { readonly remove: () => Promise<void> }): VNode {
  const [isAsking, setIsAsking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const keep = (): void => {
    setIsAsking(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        type="button"
        class="quiet delete"
        ref={button}
        aria-expanded={isAsking}
        onClick={() => setIsAsking(!isAsking)}
      >
        Delete…
      </button>
      {isAsking ? <Question remove={remove} keep={keep} /> : null}
    </>
  );
}

function Question({ remove, keep }: { readonly remove: () => Promise<void>; readonly keep: () => void }): VNode {
  const action = useAction();
  const id = useId();
  const keepButton = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    keepButton.current?.focus();
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') keep();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <section class="delete-question" aria-label="Delete this session">
      <p id={id}>Delete this session for good? Its large results and the sessions of its delegates go with it.</p>
      <div class="delete-answers">
        {/* Not disabled while it is under way: it would lose the focus. */}
        <button
          type="button"
          class="danger"
          aria-describedby={id}
          aria-disabled={action.isBusy}
          onClick={() => {
            if (!action.isBusy) void action.run(() => remove().catch(inWords));
          }}
        >
          Delete for good
        </button>
        <button type="button" ref={keepButton} aria-describedby={id} onClick={keep}>
          Keep it
        </button>
      </div>
      <Failure why={action.failure} />
    </section>
  );
}

/** The page shows which session it is, and the buttons that it may need. */
function inWords(error: unknown): never {
  if (!(error instanceof ApiError) || error.kind !== 'busy') throw error;
  const { kind, status } = error;
  throw new ApiError(
    kind,
    'It has a turn that is under way, or an input that waits for one: interrupt it first.',
    status,
  );
}

/** In the place of what could be said to a session that is gone. Whoever was about to say something is told. */
export function Gone({ reason }: { readonly reason: string }): VNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.focus();
  }, []);
  return (
    <div class="gone" role="status" ref={place} tabIndex={-1}>
      <p>{reason}</p>
      <a href="#/">All sessions</a>
    </div>
  );
}
