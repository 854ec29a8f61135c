/** Events of one turn, for views that are tested without one. */
import type { TurnEvent, TurnResult } from 'looprig';

type Body<Type extends TurnEvent['type']> = Omit<
  Extract<TurnEvent, { type: Type }>,
  'type' | 'sessionId' | 'loopId' | 'turnId' | 'stepId' | 'seq' | 'at'
>;

/** Makes events that happen at `now()`, in a step that `step.started` moves on. */
export function turnEvents(
  now: () => number,
): <Type extends TurnEvent['type']>(type: Type, body: Body<Type>) => TurnEvent {
  let step = 0;
  let seq = 0;
  return (type, body) => {
    if (type === 'step.started') step += 1;
    const where = { sessionId: 'session', loopId: 'loop', turnId: 'turn', stepId: `turn.${step}` };
    // One object has the fields of every kind of event; the compiler cannot follow a type parameter that far.
    return { type, ...where, seq: ++seq, at: now(), ...body } as unknown as TurnEvent;
  };
}

/** Usage of so many tokens. */
export function usage(totalTokens: number): TurnResult['usage'] {
  return { inputTokens: totalTokens, outputTokens: 0, totalTokens, cachedInputTokens: 0, reasoningTokens: 0 };
}

/** A turn that was answered. */
export function doneResult(text: string): Extract<TurnResult, { status: 'done' }> {
  return {
    status: 'done',
    ...{ text, usage: usage(12), steps: 2, iterations: 1, calls: 1 },
    finishReason: { unified: 'stop', raw: 'stop' },
  };
}
