/** What waits for a person: what a call wants, and the answers to it. */

import type { RefObject, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { SessionDetails } from '../engines/host.ts';
import type { JSONObject } from '../model/model.ts';
import { reasonOf } from '../reason.ts';
import { Requests } from '../report/components/call-details.tsx';
import { Arguments } from '../report/components/contents.tsx';
import { Icon } from '../report/components/icons.tsx';
import { durationText, jsonText } from '../report/model/format.ts';
import type { GateView, SessionView } from '../report/model/view.ts';
import type { GateAnswer } from '../session/gate-answer.ts';
import type { Client } from './client.ts';
import { Failure } from './failure.tsx';
import { useAction } from './hooks.ts';

/** A question that is open. */
export interface OpenGate {
  readonly gateId: string;
  readonly toolName: string;
  readonly requests: GateView['requests'];
  readonly summary?: string;
  readonly openedAt: number;
  /** The arguments that are asked about; unknown for a call of a delegate. */
  readonly input?: unknown;
}

/** The open gates that events tell of, and those of delegates, which only the server knows. */
export function openGatesOf(view: SessionView, details: SessionDetails | undefined): readonly OpenGate[] {
  const turn = view.turns.at(-1);
  const known = new Set<string>();
  const own: OpenGate[] = [];
  for (const { calls } of turn?.steps.slice(-1) ?? []) {
    for (const { gate, toolName, input, summary } of calls) {
      if (gate === undefined) continue;
      known.add(gate.gateId);
      if (gate.resolvedAt !== undefined) continue;
      const { gateId, requests, openedAt } = gate;
      own.push({ gateId, toolName, requests, openedAt, input, ...(summary === undefined ? {} : { summary }) });
    }
  }
  if (turn === undefined || turn.end !== undefined) return own;
  return [...own, ...(details?.gates ?? []).filter(({ gateId }) => !known.has(gateId))];
}

export function Gates(props: {
  readonly client: Client;
  readonly sessionId: string;
  readonly gates: readonly OpenGate[];
  readonly now: number;
  readonly onAnswer: () => Promise<void>;
}): VNode | null {
  const { client, sessionId, gates, now, onAnswer } = props;
  const ref = useRef<HTMLElement>(null);
  const count = useRef(gates.length);
  useEffect(() => {
    // What had the focus is gone with its gate. It goes to where the others are, and to none of their answers.
    if (gates.length < count.current && document.activeElement === document.body) {
      const next = ref.current ?? document.querySelector<HTMLElement>('.composer textarea');
      next?.focus();
    }
    count.current = gates.length;
  }, [gates.length]);
  if (gates.length === 0) return null;
  return (
    <section class="gates" aria-label="Waits for you" ref={ref} tabIndex={-1}>
      {gates.map((gate, index) => (
        <Gate
          key={gate.gateId}
          gate={gate}
          now={now}
          place={gates.length === 1 ? undefined : `${index + 1} of ${gates.length}`}
          answer={async given => {
            await client.answer(sessionId, gate.gateId, given);
            await onAnswer();
          }}
        />
      ))}
    </section>
  );
}

function Gate(props: {
  readonly gate: OpenGate;
  readonly now: number;
  readonly place: string | undefined;
  readonly answer: (answer: GateAnswer) => Promise<void>;
}): VNode {
  const { gate, now, place, answer } = props;
  const { toolName, requests, openedAt, input } = gate;
  const about = gate.summary ?? requests[0]?.description;
  const [form, setForm] = useState<'edit' | 'deny'>();
  const action = useAction();
  const give = (given: GateAnswer): void => void action.run(() => answer(given));
  const toggle = (which: 'edit' | 'deny'): void => {
    action.clear();
    setForm(form === which ? undefined : which);
  };
  return (
    <article class="gate" aria-label={`${toolName} asks for permission`}>
      <header class="gate-head">
        <Icon look="person" />
        <h3>
          <span class="tool-name">{toolName}</span> <span class="gate-summary">{about ?? 'asks for permission'}</span>
        </h3>
      </header>
      <div class="gate-wants">
        <Requests requests={requests} {...(about === undefined ? {} : { told: about })} />
        <span class="muted">
          {place === undefined ? 'waits ' : `${place} · `}
          {durationText(now - openedAt)}
        </span>
      </div>
      {input === undefined || form === 'edit' ? null : (
        <details class="gate-input">
          <summary>Arguments</summary>
          <Arguments input={input} />
        </details>
      )}
      {form === 'edit' ? <EditForm input={input} isBusy={action.isBusy} give={give} /> : null}
      {form === 'deny' ? <DenyForm isBusy={action.isBusy} give={give} /> : null}
      <div class="gate-answers">
        {form === undefined ? <Approvals requests={requests} isBusy={action.isBusy} give={give} /> : null}
        <button type="button" aria-expanded={form === 'edit'} disabled={action.isBusy} onClick={() => toggle('edit')}>
          Edit…
        </button>
        <button type="button" aria-expanded={form === 'deny'} disabled={action.isBusy} onClick={() => toggle('deny')}>
          Deny…
        </button>
      </div>
      <Failure why={action.failure} class="gate-failure" />
    </article>
  );
}

/** They are for the call as it was asked about: beside other arguments, or a reason against it, they would be taken for something else. */
function Approvals({ requests, isBusy, give }: FormProps & Pick<OpenGate, 'requests'>): VNode {
  const always = requests.map(({ action, target }) => `${action} ${target}`).join(', ');
  return (
    <>
      <button type="button" class="primary" disabled={isBusy} onClick={() => give({ decision: 'approve' })}>
        Approve
      </button>
      <button
        type="button"
        title={`For the rest of the session: ${always}`}
        disabled={isBusy}
        onClick={() => give({ decision: 'approveAlways' })}
      >
        Approve always
      </button>
    </>
  );
}

/** A field that somebody has asked for has the focus. */
function useFocus<Field extends HTMLElement>(): RefObject<Field | null> {
  const ref = useRef<Field>(null);
  useEffect(() => ref.current?.focus(), []);
  return ref;
}

interface FormProps {
  readonly isBusy: boolean;
  readonly give: (answer: GateAnswer) => void;
}

/** The object that a text is as JSON, or a sentence that says why it is none. */
function readObject(text: string): JSONObject | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JSONObject;
    return 'Arguments must be a JSON object, as { "path": "a.txt" }.';
  } catch (error) {
    return `This is not JSON: ${reasonOf(error)}`;
  }
}

function EditForm({ input, isBusy, give }: FormProps & { readonly input: unknown }): VNode {
  const [text, setText] = useState(() => jsonText(input ?? {}));
  const [wrong, setWrong] = useState<string>();
  const id = useId();
  const field = useFocus<HTMLTextAreaElement>();
  const submit = (event: Event): void => {
    event.preventDefault();
    const read = readObject(text);
    setWrong(typeof read === 'string' ? read : undefined);
    if (typeof read !== 'string') give({ decision: 'edit', input: read });
  };
  return (
    <form class="gate-form" onSubmit={submit}>
      <label for={id}>Arguments to make the call with, as JSON</label>
      <textarea
        id={id}
        ref={field}
        class="json"
        spellcheck={false}
        rows={Math.min(12, text.split('\n').length + 1)}
        value={text}
        aria-invalid={wrong !== undefined}
        onInput={event => setText(event.currentTarget.value)}
      />
      <Failure why={wrong} />
      <button type="submit" class="primary" disabled={isBusy}>
        Approve with these
      </button>
    </form>
  );
}

function DenyForm({ isBusy, give }: FormProps): VNode {
  const [reason, setReason] = useState('');
  const id = useId();
  const field = useFocus<HTMLInputElement>();
  const submit = (event: Event): void => {
    event.preventDefault();
    give(reason.trim() === '' ? { decision: 'deny' } : { decision: 'deny', reason: reason.trim() });
  };
  return (
    <form class="gate-form" onSubmit={submit}>
      <label for={id}>Why not? The model is told.</label>
      <input id={id} ref={field} type="text" value={reason} onInput={event => setReason(event.currentTarget.value)} />
      <button type="submit" class="danger" disabled={isBusy}>
        Deny
      </button>
    </form>
  );
}
