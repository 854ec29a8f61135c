/** Folds the events of one step into it. */
import type { TurnEvent } from '../../events/events.ts';
import type { JSONValue } from '../../model/model.ts';
import type { CallView, GateView, StepView } from './view.ts';

/** The events that are about a step. */
export type StepEvent = Exclude<
  Extract<TurnEvent, { readonly stepId: string }>,
  { readonly type: 'step.started' | 'limit.near' }
>;

/** The step after one more event; the same object where the event changes nothing. */
export function reduceStep(step: StepView, event: StepEvent): StepView {
  switch (event.type) {
    case 'text.delta':
      return { ...step, text: step.text + event.text };
    case 'reasoning.delta':
      return { ...step, reasoning: step.reasoning + event.text };
    case 'tool.input.delta':
      return { ...step, writing: written(step, event) };
    case 'step.retrying': {
      const { attempt, delayMs, reason, at } = event;
      const retries = [...step.retries, { attempt, delayMs, reason, at }];
      return { ...step, text: '', reasoning: '', writing: [], retries };
    }
    case 'step.done': {
      const { text, finishReason, usage, at } = event;
      return { ...step, text, finishReason, usage, endedAt: at, isPartial: false, writing: [] };
    }
    case 'gate.opened': {
      const { callId, toolName, input, summary, gateId, requests, at } = event;
      const gate: GateView = { gateId, requests, openedAt: at };
      return changeCall(responded(step, at), callId, call => ({
        ...(call ?? newCall(callId, toolName)),
        ...{ input, gate },
        ...(summary === undefined ? {} : { summary }),
      }));
    }
    case 'tool.called': {
      const { callId, toolName, input, summary, waitsFor = [], at } = event;
      return changeCall(responded(step, at), callId, call => ({
        ...(call ?? newCall(callId, toolName)),
        ...{ input, waitsFor, calledAt: at },
        ...(summary === undefined ? {} : { summary }),
      }));
    }
    case 'gate.resolved':
      return changeKnown(step, event.callId, call => resolved(call, event));
    case 'tool.started':
      return changeKnown(step, event.callId, call => ({ ...call, startedAt: event.at }));
    case 'tool.progress':
      return changeKnown(step, event.callId, call => progressed(call, event.update));
    case 'tool.completed': {
      const { callId, outcome, isError, output, durationMs, capture, at } = event;
      const kept = capture === undefined ? {} : { capture };
      return changeKnown(step, callId, call => {
        return { ...call, endedAt: at, outcome, isError, output, durationMs, ...kept };
      });
    }
    case 'tool.late':
      return changeKnown(step, event.callId, call => ({ ...call, isLate: true }));
  }
}

function newCall(callId: string, toolName: string): CallView {
  return { callId, toolName, input: {}, waitsFor: [], isLate: false };
}

/** The response is there as a whole: what was being written is asked for now. */
function responded(step: StepView, at: number): StepView {
  if (step.respondedAt !== undefined && step.writing.length === 0) return step;
  return { ...step, respondedAt: step.respondedAt ?? at, writing: [] };
}

function written(step: StepView, event: Extract<StepEvent, { type: 'tool.input.delta' }>): StepView['writing'] {
  const { inputId, toolName, text } = event;
  const known = step.writing.find(call => call.inputId === inputId);
  if (known === undefined) return [...step.writing, { inputId, toolName, characters: text.length }];
  const more = { ...known, characters: known.characters + text.length };
  return step.writing.map(call => (call === known ? more : call));
}

function resolved(call: CallView, event: Extract<StepEvent, { type: 'gate.resolved' }>): CallView {
  const { gate } = call;
  if (gate === undefined || gate.gateId !== event.gateId) return call;
  const { decision, reason, input, rules, at } = event;
  const said = {
    ...(reason === undefined ? {} : { reason }),
    ...(input === undefined ? {} : { input }),
    ...(rules === undefined ? {} : { rules }),
  };
  return { ...call, gate: { ...gate, resolvedAt: at, decision, ...said } };
}

/** A delegate's progress is an event of its session; of any other tool, whatever it says. */
function progressed(call: CallView, update: JSONValue): CallView {
  const { type, sessionId } = Object(update) as { readonly type?: unknown; readonly sessionId?: unknown };
  if (type !== 'looprig.delegate' || typeof sessionId !== 'string') return { ...call, progress: update };
  return call.childId === sessionId ? call : { ...call, childId: sessionId };
}

function changeKnown(step: StepView, callId: string, change: (call: CallView) => CallView): StepView {
  if (!step.calls.some(call => call.callId === callId)) return step;
  return changeCall(step, callId, call => (call === undefined ? newCall(callId, '') : change(call)));
}

function changeCall(step: StepView, callId: string, change: (call: CallView | undefined) => CallView): StepView {
  const place = step.calls.findIndex(call => call.callId === callId);
  const next = change(step.calls[place]);
  if (place < 0) return { ...step, calls: [...step.calls, next] };
  return next === step.calls[place] ? step : { ...step, calls: step.calls.with(place, next) };
}
