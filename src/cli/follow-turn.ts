/** Follows one turn to its end, shows it, and asks at its gates. */
import {
  JournalConflictError,
  type JournalRecord,
  type PendingGate,
  type Session,
  type Turn,
  type TurnEvent,
  type TurnResult,
} from '../index.ts';
import { outputText } from '../report/model/format.ts';
import { mostTries } from './agent.ts';
import type { CommandEnd } from './command.ts';
import { conclude, concludeWaiting } from './conclude.ts';
import { GateDesk } from './gate-desk.ts';
import { gateLine } from './gate-text.ts';
import type { Host, StopReason } from './host.ts';
import { LineInput } from './line-input.ts';
import type { OpenSession } from './open-session.ts';
import type { ShownOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { shortId } from './session-ids.ts';
import type { View } from './view.ts';
import { canAsk, createView } from './views.ts';

/** What a turn is shown with. */
export interface TurnSetting {
  readonly work: OpenSession;
  readonly options: ShownOptions;
  readonly host: Host;
  readonly secrets: SecretFilter;
  /** What the user said. */
  readonly prompt: string;
  readonly mode: string;
  /** Which turn of the session this is, in words; `undefined` for the first. */
  readonly session: string | undefined;
  /** What is told before the turn begins. */
  readonly notice: string | undefined;
  /** The number of the last event before this process goes on: what comes before it is shown, and not acted on. */
  readonly pastSeq: number;
  /** Begins it. */
  begin(): Turn;
}

/** How following ended: with the turn, or at a question that is left open. */
type Followed = { readonly result: TurnResult; readonly denied: number } | { readonly result: undefined };

/** Shows a turn from its beginning to its end. Gives how the command ended; where the turn waits, its session is left as it is. */
export async function showTurn(setting: TurnSetting): Promise<CommandEnd> {
  const { work, options, host, secrets, prompt, mode, session, notice } = setting;
  const view = createView(options, host, secrets);
  view.start({
    model: work.agent.label,
    workspace: work.agent.workspace,
    mode: mode === 'base' ? '' : mode,
    ...{ prompt, tries: mostTries(work.agent) },
    ...(session !== undefined && { session }),
  });
  if (notice !== undefined) view.notice(notice);
  const abandon = (): void => view.abandon();
  host.quit.addEventListener('abort', abandon, { once: true });
  const followed = await follow(setting, view).catch(error => {
    view.abandon();
    throw error;
  });
  host.quit.removeEventListener('abort', abandon);
  if (followed.result === undefined) return leaveWaiting(work, view, secrets);
  const { result, denied } = followed;
  const next = work.kept && `looprig run --session ${work.kept.shown}${work.kept.storeArgument} "…"`;
  const end = conclude(result, { denied: work.approval === 'none' ? denied : 0, remote: work.agent.remote });
  view.end({ ...end, ...(work.kept && { sessionId: work.kept.sessionId }), ...(next !== undefined && { next }) });
  return {
    exitStatus: end.exitStatus,
    isLeftRunning: 'leftBehind' in result && result.leftBehind.length > 0,
    ...(result.status === 'failed' && { error: result.error }),
  };
}

/** Tells what a session waits for and how to answer, and lets go of it as it is. */
export function leaveWaiting(work: OpenSession, view: View, secrets: SecretFilter): CommandEnd {
  const { kept, session } = work;
  const { gates } = session;
  const ids = gates.map(({ gateId }) => gateId);
  for (const gate of gates) view.notice(`gate ${shortId(gate.gateId, ids)}: ${gateLine(gate, secrets)}`);
  const end = concludeWaiting(gates, kept);
  view.end({ ...end, ...(kept && { sessionId: kept.sessionId }) });
  work.leave();
  // A turn that waits may still do so in this process, whose work is done.
  return { exitStatus: end.exitStatus, isLeftRunning: true };
}

async function follow({ work, options, host, secrets, pastSeq, begin }: TurnSetting, view: View): Promise<Followed> {
  const { session } = work;
  const { stop } = host;
  const turn = begin();
  const events = turn.subscribe();
  const interrupt = (): void => {
    const reason = stop.reason as StopReason;
    if (reason !== 'output closed') view.notice('interrupting the turn; Ctrl-C again quits at once');
    turn.interrupt(reason);
  };
  if (stop.aborted) interrupt();
  stop.addEventListener('abort', interrupt, { once: true });
  const isAsked = canAsk(options, host) && work.approval === 'ask';
  let stepSeq = 1;
  const desk = new GateDesk({
    ...{ session, view, secrets, stop },
    input: new LineInput(host.stdin, host.clock),
    inputOf: callId => inputOf(work, callId, stepSeq),
  });
  let denied = 0;
  try {
    for await (const event of events) {
      if (event.type === 'tool.completed' && isUnasked(event)) denied += 1;
      if (event.type === 'step.started') stepSeq = event.seq;
      view.event(event);
      if (event.seq < pastSeq) continue;
      for (const gate of gatesAt(event, session, event.seq === pastSeq)) {
        if (stop.aborted) break;
        if (!isAsked || (await decide(desk, gate)) === 'left') return { result: undefined };
      }
    }
    return { result: await turn.result, denied };
  } finally {
    stop.removeEventListener('abort', interrupt);
  }
}

/** Whether a call was denied because nobody could be asked, and not by a rule of the loop's own. */
export function isUnasked({ outcome, output }: Extract<TurnEvent, { type: 'tool.completed' }>): boolean {
  return outcome === 'denied' && outputText(output).includes('nobody can be asked');
}

/** The gates to ask about now: one that opens, or all that another process left open. Each is open still when its turn comes. */
export function* gatesAt(event: TurnEvent, session: Session, isTakenUp: boolean): Iterable<PendingGate> {
  const isNow = ({ gateId }: PendingGate): boolean =>
    isTakenUp || (event.type === 'gate.opened' && event.gateId === gateId);
  for (const gate of session.gates.filter(isNow)) {
    if (session.gates.some(({ gateId }) => gateId === gate.gateId)) yield gate;
  }
}

/** A journal that another process took over ends the turn by itself, and says so there. */
export async function decide(desk: GateDesk, gate: PendingGate): Promise<'decided' | 'left'> {
  try {
    return await desk.decide(gate);
  } catch (error) {
    if (JournalConflictError.is(error)) return 'decided';
    throw error;
  }
}

/** The arguments of a call that waits: they stand in the response that asked for it. */
export async function inputOf({ store, session }: OpenSession, callId: string, fromSeq: number): Promise<unknown> {
  for await (const record of store.read(session.id, fromSeq)) {
    const input = inputIn(record, callId);
    if (input !== undefined) return input;
  }
  return undefined;
}

function inputIn(record: JournalRecord, callId: string): unknown {
  if (record.type !== 'step.responded') return undefined;
  const call = record.message.content.find(part => part.type === 'tool-call' && part.toolCallId === callId);
  return call?.type === 'tool-call' ? call.input : undefined;
}
