/**
 * The spans of one turn, from its events: the turn's own, and as children of it one for each model call and each call that started.
 *
 * 1. Every span that was started is ended once: the turn's own with its last event, and with it whatever is still open.
 * 2. Times are those of the events, and never run backwards, so that the turn's span holds all others.
 */
import { type Attributes, type Context, type Link, type Span, SpanKind, trace } from '@opentelemetry/api';
import type {
  GateOpened,
  GateResolved,
  LimitNear,
  StepDone,
  StepRetrying,
  ToolCompleted,
  TurnEvent,
  TurnFailed,
  TurnResumed,
  TurnStarted,
} from '../events/events.ts';
import { delegateEventOf } from '../index.ts';
import { addUsage, NO_USAGE, type Usage } from '../model/model.ts';
import type { Agent } from './agent.ts';
import { CallSpans } from './call-spans.ts';
import { answerMessages, cutText, userMessages } from './content.ts';
import {
  endAttributes,
  failureOf,
  finishWord,
  limitAttributes,
  limitReached,
  type TurnEnd,
  usageAttributes,
  usageLeft,
} from './figures.ts';
import { ATTRIBUTES, ERRORS, OPERATIONS, SPAN_EVENTS } from './names.ts';
import { StepSpan } from './step-span.ts';
import { type Failure, type Instruments, MOST_NAME, markFailed, timeOf } from './telemetry.ts';

/** The most actions of one gate that are shown. */
const MOST_ACTIONS = 32;

/** The first event that is seen of a turn; it is the last one too where the turn's start could not be recorded. */
export type TurnOpening = TurnStarted | TurnResumed | TurnFailed;

export class TurnSpans {
  readonly #instruments: Instruments;
  readonly #agent: Agent;
  readonly #span: Span;
  /** What all other spans of the turn belong to. */
  readonly #context: Context;
  /** Attributes of each of them. */
  readonly #common: Attributes;
  readonly #startedAt: number;
  readonly #openedSeq: number;
  readonly #isResumed: boolean;
  #step: StepSpan | undefined;
  readonly #calls: CallSpans;
  #used: Usage = NO_USAGE;
  /** Whether a delegate worked for the turn: the turn's sum holds what that cost too. */
  #hasDelegated = false;
  #lastAt: number;

  constructor(instruments: Instruments, agent: Agent, parent: Context, event: TurnOpening, links: Link[]) {
    this.#instruments = instruments;
    this.#agent = agent;
    this.#startedAt = event.at;
    this.#lastAt = event.at;
    this.#openedSeq = event.seq;
    this.#isResumed = event.type === 'turn.resumed';
    const opening =
      event.type === 'turn.started' ? this.#opening(event) : { [ATTRIBUTES.resumed]: this.#isResumed || undefined };
    this.#span = instruments.tracer.startSpan(
      agent.name === undefined ? OPERATIONS.turn : `${OPERATIONS.turn} ${agent.name}`,
      {
        kind: SpanKind.INTERNAL,
        startTime: timeOf(event.at),
        links,
        attributes: {
          ...instruments.attributes,
          [ATTRIBUTES.operation]: OPERATIONS.turn,
          ...agent.ofTurn,
          [ATTRIBUTES.conversation]: event.sessionId,
          [ATTRIBUTES.loopId]: event.loopId,
          [ATTRIBUTES.turnId]: event.turnId,
          ...opening,
        },
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    this.#common = {
      ...instruments.attributes,
      ...(agent.name === undefined ? {} : { [ATTRIBUTES.agent]: agent.name }),
      [ATTRIBUTES.conversation]: event.sessionId,
    };
    this.#calls = new CallSpans(instruments, agent, this.#context, this.#common);
  }

  /** For a link from the span of the same turn in another session object. */
  get link(): Link {
    return { context: this.#span.spanContext() };
  }

  /** The context of a running call; the turn's own where no span of the call is open. */
  contextOf(callId: string): Context {
    return this.#calls.contextOf(callId) ?? this.#context;
  }

  /** Whether an event is of this run of the turn. A session that was overtaken by another still says that it failed, with an older number. */
  concerns({ seq }: TurnEvent): boolean {
    return seq >= this.#openedSeq;
  }

  /** Takes any event of the turn but its first and its last. */
  take(event: Exclude<TurnEvent, TurnEnd | TurnStarted | TurnResumed>): void {
    switch (event.type) {
      case 'text.delta':
      case 'reasoning.delta':
      case 'tool.input.delta':
        if (this.#isResumed && this.#step === undefined) this.#askedAgain();
        break;
      case 'step.started':
        this.#endStep();
        this.#step = this.#openStep(this.#time(event.at), event.step);
        break;
      case 'step.retrying':
        this.#retrying(event);
        break;
      case 'gate.opened':
      case 'gate.resolved':
        this.#gate(event);
        break;
      case 'tool.called':
        this.#responded(event.at);
        this.#calls.called(event.callId, event.input);
        break;
      case 'tool.started':
        this.#calls.started(event, this.#time(event.at));
        break;
      case 'tool.completed':
        this.#completed(event);
        break;
      case 'limit.near':
        this.#near(event);
        break;
      case 'step.done':
        this.#stepDone(event);
        break;
      case 'tool.progress':
        if (!this.#hasDelegated) this.#hasDelegated = delegateEventOf(event) !== undefined;
        break;
      case 'tool.late':
      case 'events.dropped':
        break;
    }
  }

  /** Ends all spans with the turn's last event. */
  end(event: TurnEnd): void {
    const { contentLength, metrics } = this.#instruments;
    const at = this.#time(event.at);
    const failure = failureOf(event, contentLength);
    this.#endStep(event, failure);
    this.#span.setAttributes(endAttributes(event));
    if (contentLength !== undefined) {
      const word = event.type === 'turn.done' ? finishWord(event.finishReason) : undefined;
      this.#span.setAttribute(ATTRIBUTES.outputMessages, answerMessages(event.text, word, contentLength));
    }
    const limit = limitReached(event);
    if (limit !== undefined) metrics.limitReached(limit, this.#agent);
    this.#close(at, failure);
  }

  /** Ends all spans of a turn of which nothing more is waited for. */
  abandon(): void {
    const failure = { type: ERRORS.abandoned };
    this.#endStep(undefined, failure);
    this.#span.setAttribute(ATTRIBUTES.turnOutcome, ERRORS.abandoned);
    this.#close(this.#lastAt, failure);
  }

  #close(at: number, failure: Failure | undefined): void {
    this.#calls.endAll(at);
    if (failure !== undefined) markFailed(this.#span, failure);
    this.#span.end(timeOf(at));
    this.#instruments.metrics.took(OPERATIONS.turn, at - this.#startedAt, this.#agent.ofMetrics, failure?.type);
  }

  #opening(event: TurnStarted): Attributes {
    const { contentLength } = this.#instruments;
    const { mode, input } = event;
    return {
      ...limitAttributes(event),
      ...(mode === '' ? {} : { [ATTRIBUTES.mode]: mode }),
      ...(contentLength === undefined || input.length === 0
        ? {}
        : { [ATTRIBUTES.inputMessages]: userMessages(input, contentLength) }),
    };
  }

  /** A resumed turn asks the model again in a step that had begun: there is no start of it to be seen, only its words. */
  #askedAgain(): void {
    this.#step = this.#openStep(this.#startedAt, undefined);
  }

  #openStep(at: number, step: number | undefined): StepSpan {
    const place = step === undefined ? {} : { [ATTRIBUTES.step]: step };
    return new StepSpan(this.#instruments, this.#agent, this.#context, at, { ...this.#common, ...place });
  }

  #retrying({ at, attempt, delayMs, reason }: StepRetrying): void {
    if (this.#isResumed && this.#step === undefined) this.#askedAgain();
    this.#instruments.metrics.retried(this.#agent);
    const about = { [ATTRIBUTES.attempt]: attempt, [ATTRIBUTES.delay]: delayMs };
    this.#step?.retrying(this.#time(at), { ...about, ...this.#content(ATTRIBUTES.reason, reason) });
  }

  #gate(event: GateOpened | GateResolved): void {
    const at = this.#responded(event.at);
    const ids = { [ATTRIBUTES.gateId]: event.gateId, [ATTRIBUTES.callId]: cutText(event.callId, MOST_NAME) };
    if (event.type === 'gate.opened') {
      const { toolName, requests } = event;
      const { contentLength } = this.#instruments;
      const actions = requests.slice(0, MOST_ACTIONS).map(({ action, target }) => {
        return contentLength === undefined ? cutText(action, MOST_NAME) : cutText(`${action} ${target}`, contentLength);
      });
      const about = { ...ids, [ATTRIBUTES.tool]: toolName, [ATTRIBUTES.actions]: actions };
      this.#span.addEvent(SPAN_EVENTS.gateOpened, about, timeOf(at));
      return;
    }
    const { decision, reason, input } = event;
    if (input !== undefined) this.#calls.edited(event.callId, input);
    const edited = input === undefined ? {} : { [ATTRIBUTES.edited]: true };
    const decided = { [ATTRIBUTES.decision]: decision, ...edited, ...this.#content(ATTRIBUTES.reason, reason) };
    this.#span.addEvent(SPAN_EVENTS.gateResolved, { ...ids, ...decided }, timeOf(at));
  }

  #completed(event: ToolCompleted): void {
    const at = this.#responded(event.at);
    const { toolName, outcome, durationMs } = event;
    if (this.#hasRunAgain(event)) this.#calls.started(event, Math.max(at - durationMs, this.#startedAt));
    const hasRun = this.#calls.completed(event, at);
    if (!hasRun) this.#notRun(event, at);
    // What ran, or was denied, is a tool of the loop; any other name may be the model's own.
    const isKnown = hasRun || outcome === 'denied';
    this.#instruments.metrics.called(outcome, isKnown ? toolName : undefined, this.#agent);
  }

  /** In a resumed turn a call of an idempotent tool runs again without another start: how long it ran says when that was. */
  #hasRunAgain({ callId, outcome, durationMs }: ToolCompleted): boolean {
    if (!this.#isResumed || this.#calls.contextOf(callId) !== undefined) return false;
    return durationMs > 0 || outcome === 'done' || outcome === 'failed';
  }

  #notRun({ callId, toolName, outcome }: ToolCompleted, at: number): void {
    const about = {
      [ATTRIBUTES.callId]: cutText(callId, MOST_NAME),
      [ATTRIBUTES.tool]: cutText(toolName, MOST_NAME),
      [ATTRIBUTES.callOutcome]: outcome,
    };
    this.#span.addEvent(SPAN_EVENTS.callNotRun, about, timeOf(at));
  }

  #near({ at, limit, used, max }: LimitNear): void {
    const about = { [ATTRIBUTES.limit]: limit, [ATTRIBUTES.limitUsed]: used, [ATTRIBUTES.limitMax]: max };
    this.#span.addEvent(SPAN_EVENTS.limitNear, about, timeOf(this.#time(at)));
  }

  #stepDone(event: StepDone): void {
    const at = this.#time(event.at);
    const { contentLength, metrics } = this.#instruments;
    this.#used = addUsage(this.#used, event.usage);
    metrics.used(event.usage, this.#agent);
    this.#step?.committed(at, event.finishReason, {
      ...usageAttributes(event.usage),
      [ATTRIBUTES.finishReasons]: [finishWord(event.finishReason)],
      ...(contentLength === undefined
        ? {}
        : { [ATTRIBUTES.outputMessages]: answerMessages(event.text, finishWord(event.finishReason), contentLength) }),
    });
  }

  /** Ends the span of the model call; `event` is the turn's end, if this comes with it. */
  #endStep(event?: TurnEnd, failure?: Failure): void {
    const step = this.#step;
    this.#step = undefined;
    if (step === undefined) return;
    if (event !== undefined && !step.isCommitted && !this.#isResumed && !this.#hasDelegated) {
      // The response went beyond a limit, or broke off: what it cost stands in the turn's sum alone.
      const usage = usageLeft(event.usage, this.#used);
      step.add(usageAttributes(usage));
      this.#instruments.metrics.used(usage, this.#agent);
    }
    step.end(this.#lastAt, failure);
  }

  /** The time of an event that only comes when the model has answered. */
  #responded(at: number): number {
    const time = this.#time(at);
    this.#step?.responded(time);
    return time;
  }

  /** The time of an event, or of the one before it where the clock was set back. */
  #time(at: number): number {
    this.#lastAt = Math.max(this.#lastAt, at);
    return this.#lastAt;
  }

  #content(name: string, text: string | undefined): Attributes {
    const { contentLength } = this.#instruments;
    return text === undefined || contentLength === undefined ? {} : { [name]: cutText(text, contentLength) };
  }
}
