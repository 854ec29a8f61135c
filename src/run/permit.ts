/** The second stage of a batch: its calls allowed, in their order. A call that is not allowed is answered instead. */
import type { JSONValue } from '../model/model.ts';
import { answered, type PreparedCall } from './call.ts';
import type { Permission, TurnContext } from './context.ts';
import { inTime, PROCESS_ENDED, type Preparation, prepareCall } from './prepare.ts';
import type { RequestedCall } from './response.ts';
import { cleanMessage } from './result.ts';
import type { RecordedBatch } from './resume.ts';
import { standStill } from './standstill.ts';

/** Whether a call needs permission. */
export function asks({ call }: Preparation): boolean {
  return call !== undefined && call.access.length > 0;
}

/** Asks for permission where a call wants anything, in call order; what is not allowed is answered instead. */
export async function permitAll(
  turn: TurnContext,
  stepId: string,
  calls: readonly RequestedCall[],
  prepared: readonly Preparation[],
  recorded: RecordedBatch | undefined,
): Promise<readonly Preparation[]> {
  const isAsked = (index: number): boolean => recorded !== undefined && turn.hasGate(calls[index]!.callId);
  const asking = prepared.flatMap(({ call }, index) =>
    call !== undefined && (call.access.length > 0 || isAsked(index)) ? [index] : [],
  );
  if (recorded !== undefined) await withdrawGates(turn, calls, prepared);
  if (asking.length === 0) return prepared;
  const requests = asking.map(index => {
    const { access, summary } = prepared[index]!.call as PreparedCall;
    const { callId, toolName } = calls[index]!;
    return { stepId, callId, toolName, requests: access, summary };
  });
  const goOn = standStill(turn);
  const permissions = await turn.permission(requests);
  goOn();
  const permitted = [...prepared];
  for (const [place, index] of asking.entries()) {
    const permission: Permission | undefined = permissions[place];
    if (permission?.allowed === true) {
      if (permission.input !== undefined) permitted[index] = await prepareEdited(turn, calls[index]!, permission.input);
      continue;
    }
    if (permission === undefined || permission.isInterrupted) continue; // nothing runs any more, and each says why
    const why = `permission denied: ${cleanMessage(permission.reason)}`;
    // A call that another process had started may not run again, but it may have taken effect.
    const hasStarted = recorded?.started.has(calls[index]!.callId) === true;
    permitted[index] = {
      refused: hasStarted
        ? answered('interrupted', `${PROCESS_ENDED}; not run again: ${why}`)
        : answered('denied', why),
    };
  }
  return permitted;
}

/** A call that another process asked for may be one that cannot be made now: its tool is gone, or takes other arguments. */
async function withdrawGates(
  turn: TurnContext,
  calls: readonly RequestedCall[],
  prepared: readonly Preparation[],
): Promise<void> {
  const gone = calls.filter(({ callId }, index) => prepared[index]?.refused !== undefined && turn.hasGate(callId));
  if (gone.length > 0) await turn.withdrawGates(gone.map(({ callId }) => callId));
}

/** A call whose arguments a person changed: checked like the model's own, and its result says so. */
async function prepareEdited(turn: TurnContext, call: RequestedCall, input: JSONValue): Promise<Preparation> {
  const inputText = JSON.stringify(input);
  const prepared = await inTime(turn, Promise.resolve(prepareCall(turn, { ...call, input, inputText })));
  if (prepared.call === undefined) return prepared;
  const forbidden = turn.forbids(prepared.call.access);
  if (forbidden !== undefined) return { refused: answered('denied', `permission denied: ${forbidden}`) };
  return {
    call: { ...prepared.call, note: `Note: a person changed the arguments of this call to ${cleanMessage(inputText)}` },
  };
}
