/** What happens beside text and calls, in one line. */
import type { TurnEvent } from '../index.ts';
import { durationText } from '../report/model/format.ts';
import { plainReason } from './model-failure.ts';

type Retrying = Extract<TurnEvent, { type: 'step.retrying' }>;

/** That a request failed and is made again. `hasShown` says whether something of the failed attempt can be seen. */
export function retryNote({ reason, delayMs, attempt }: Retrying, tries: number, hasShown: boolean): string {
  const dropped = hasShown ? '; what this step has said above is dropped' : '';
  return `the request failed (${plainReason(reason)}): trying again in ${durationText(delayMs)} (${attempt} of ${tries})${dropped}`;
}

/** A line for an event that needs no more than that; `undefined` for any other. */
export function noteOf(event: TurnEvent): string | undefined {
  switch (event.type) {
    case 'turn.resumed':
      return 'taken up again';
    case 'limit.near':
      return `limit near: ${event.used} of ${event.max} ${event.limit} used`;
    case 'tool.late':
      return `${event.toolName} settled after it was answered for; what it gave is dropped`;
    default:
      return undefined;
  }
}
