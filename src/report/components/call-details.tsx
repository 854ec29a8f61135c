/** All that is known of one call: what it was asked, who allowed it, what it waited for, and what it gave. */
import { type Context, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { callText, callWord, durationText, jsonText } from '../model/format.ts';
import type { Span } from '../model/spans.ts';
import type { CallView, GateView, StepView } from '../model/view.ts';
import { Arguments, Clipped, Result } from './contents.tsx';
import { Icon, lookOf } from './icons.tsx';

/** What a page adds to a call's details: reading a result that was kept whole, a way to the session of a delegate. */
export interface DetailsHost {
  whole(call: CallView): VNode | null;
  child(sessionId: string): VNode;
}

export const Details: Context<DetailsHost | undefined> = createContext<DetailsHost | undefined>(undefined);

export function CallDetails({
  call,
  spans,
  step,
}: {
  readonly call: CallView;
  readonly spans: readonly Span[];
  readonly step: StepView;
}): VNode {
  const host = useContext(Details);
  const { gate, childId, progress } = call;
  return (
    <div class="details">
      <dl class="facts">
        <Fact name="State">
          <span class="state">
            <Icon look={lookOf(call)} /> {callWord(call)}
            {call.isLate ? ', and settled after it had been answered for' : ''}
          </span>
        </Fact>
        {spans.length === 0 ? null : <Fact name="Time">{spans.map(factText).join(', ')}</Fact>}
        {call.waitsFor.length === 0 ? null : <Fact name="Had to wait for">{before(call, step)}</Fact>}
        {gate === undefined ? null : <GateFacts gate={gate} />}
        {progress === undefined || call.outcome !== undefined ? null : (
          <Fact name="Says">{typeof progress === 'string' ? progress : jsonText(progress)}</Fact>
        )}
        {childId === undefined ? null : <Fact name="Delegate">{host?.child(childId) ?? `session ${childId}`}</Fact>}
      </dl>
      <section class="block">
        <h4>{gate?.input === undefined ? 'Arguments' : 'Arguments of the model'}</h4>
        <Arguments input={call.input} />
      </section>
      {gate?.input === undefined ? null : (
        <section class="block">
          <h4>Arguments of a person, which the call was made with</h4>
          <Arguments input={gate.input} label="Changed arguments" />
        </section>
      )}
      {call.output === undefined ? null : (
        <section class={`block ${call.isError === true ? 'block-error' : ''}`}>
          <h4>{call.isError === true ? 'Error' : 'Result'}</h4>
          <Result call={call} />
          {call.capture === undefined ? null : host?.whole(call)}
        </section>
      )}
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: VNode | string }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const SPAN_NAMES: Readonly<Record<Span['kind'], string>> = Object.freeze({
  ...{ person: 'for a person', call: 'for another call', slot: 'for a slot', running: 'running' },
});

function factText({ kind, from, to }: Span): string {
  return `${durationText(to - from)} ${SPAN_NAMES[kind]}`;
}

function before({ waitsFor }: CallView, { calls }: StepView): string {
  const names = waitsFor.map(callId => {
    const place = calls.findIndex(call => call.callId === callId);
    const call = calls[place];
    return call === undefined ? callId : `call ${place + 1} (${[call.toolName, callText(call, 40)].join(' ').trim()})`;
  });
  const shown = names.slice(0, 6);
  return names.length > shown.length ? `${shown.join(', ')} and ${names.length - shown.length} more` : shown.join(', ');
}

/** What a person was asked, and said. */
function GateFacts({ gate }: { readonly gate: GateView }): VNode {
  const { decision, reason, rules, requests } = gate;
  const said = decision === undefined ? 'not answered yet' : reason === undefined ? decision : `${decision}: ${reason}`;
  const always = rules?.map(({ action, target = 'anything' }) => `${action} ${target}`).join(', ');
  return (
    <>
      <Fact name="Asked for">
        <Requests requests={requests} />
      </Fact>
      <Fact name="Answer">
        {always === undefined || always === '' ? said : `${said}; for the rest of the session: ${always}`}
      </Fact>
    </>
  );
}

/** What a call wants: an action and its target each, and what it says of it, unless that is `told` beside it. */
export function Requests(props: { readonly requests: GateView['requests']; readonly told?: string }): VNode {
  const { requests, told } = props;
  return (
    <ul class="requests">
      {requests.map(({ action, target, description }, index) => (
        <li key={index}>
          <span class="action">{action}</span> <span class="target">{target}</span>
          {description === undefined || description === told ? null : <span class="said"> {description}</span>}
        </li>
      ))}
    </ul>
  );
}

/** The beginning of a call's arguments and result, for a glance. */
export function CallGlance({ call }: { readonly call: CallView }): VNode {
  return (
    <>
      <h4>Arguments</h4>
      <Clipped text={jsonText(call.gate?.input ?? call.input)} label="Arguments" />
      {call.output === undefined ? null : <h4>{call.isError === true ? 'Error' : 'Result'}</h4>}
      {call.output === undefined ? null : <Result call={call} />}
    </>
  );
}
