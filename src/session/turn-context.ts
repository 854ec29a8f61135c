/** What a session hands to a turn: the ports that `run` knows it by. */
import type { BoundLoop, BoundMode } from '../bind/bound-loop.ts';
import type { Clock } from '../clock.ts';
import type { ResolvedToolLimits } from '../define/limits.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { JournalStore } from '../journal/journal.ts';
import type { JournalWriter } from '../journal/writer.ts';
import type { EphemeralEvent, TurnContext } from '../run/context.ts';
import { Deadlines } from '../run/deadlines.ts';
import type { OutputContract } from '../run/output.ts';
import { modeThatReads } from './captures.ts';
import type { GateKeeper } from './gate.ts';
import type { SessionState } from './history.ts';
import type { Inbox, Job } from './inbox.ts';

/** What a session's turns have in common. */
export interface TurnPorts {
  readonly bound: BoundLoop;
  readonly state: SessionState;
  readonly store: JournalStore;
  readonly writer: JournalWriter;
  readonly hub: EventHub;
  readonly gates: GateKeeper;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly output: OutputContract | undefined;
  /** Whether anything new may begin. */
  mayBegin(): boolean;
}

/** The context of one turn. Its time begins now. */
export function turnContext(ports: TurnPorts, job: Job, mode: BoundMode, limits: ResolvedToolLimits): TurnContext {
  const { bound, state, store, writer, hub, gates, inbox, clock, output, mayBegin } = ports;
  const { turnId, interruption, share } = job;
  const { sessionId, loopId, behaviour, middleware } = bound;
  const deadlines = new Deadlines(clock);
  const timeoutMs = limits.turnTimeoutMs;
  const turnTimer = deadlines.set(timeoutMs, () => interruption.stop({ kind: 'timed_out', timeoutMs }));
  const get = (id: string) => store.getCapture(sessionId, id);
  const { captures } = state;
  const current = modeThatReads(mode, { sessionId, loopId, get, captures, resultBytes: limits.resultBytes });
  return {
    ...{ sessionId, loopId, turnId, limits, share, behaviour, middleware, output },
    get mode() {
      return current();
    },
    ...{ clock, deadlines, turnTimer, interruption },
    history: state.messages,
    stage: entries => writer.stage(entries),
    append: entries => writer.append(entries),
    keep: bytes => store.putCapture(sessionId, bytes),
    hasCallId: callId => state.callIds.has(callId),
    isKnownElsewhere: toolName => bound.modes.some(other => other.tool(toolName) !== undefined),
    get watched() {
      return hub.watched;
    },
    emit: (event: EphemeralEvent) => hub.emit({ ...event, turnId }),
    tellFailure: message => hub.emit({ type: 'observer.failed', message }),
    emitText: (type, stepId, text) => hub.emitText(turnId, type, stepId, text),
    permission: requests => gates.decide(turnId, interruption, requests),
    forbids: requests => gates.forbids(requests),
    hasGate: callId => state.gates.has(callId),
    withdrawGates: callIds => gates.withdraw(callIds),
    takeSteered: () => inbox.takeSteered(turnId),
    random: () => Math.random(),
    mayBegin,
  };
}
