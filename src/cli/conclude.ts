/** How a run ended, judged: its exit status, in a few words, and in a sentence that says what to do. */
import {
  JournalConflictError,
  type LimitName,
  type LimitReached,
  ModelError,
  type PendingGate,
  ToolLimitError,
  type TurnResult,
  TurnTimeoutError,
} from '../index.ts';
import { explainModelFailure, shortened } from './model-failure.ts';
import type { Remote } from './models.ts';
import type { RunEnd } from './view.ts';

/** The exit statuses of the program. */
export const EXIT: Readonly<
  Record<'done' | 'failed' | 'usage' | 'limit' | 'denied' | 'waiting' | 'inUse' | 'interrupted' | 'terminated', number>
> = Object.freeze({
  ...{ done: 0, failed: 1, usage: 2, limit: 3, denied: 4, waiting: 5, inUse: 6 },
  ...{ interrupted: 130, terminated: 143 },
});

/** What is known beside the result. */
interface Circumstances {
  /** Calls that were denied because nobody could be asked. */
  readonly denied: number;
  /** Who was asked, if it was somebody elsewhere. */
  readonly remote: Remote | undefined;
}

/** Judges a result. A call that was denied comes first: the answer was made without it. */
export function conclude(result: TurnResult, { denied, remote }: Circumstances): RunEnd {
  const judged = judge(result, remote);
  if (result.status === 'interrupted' || denied === 0) return { result, ...judged };
  const calls = denied === 1 ? '1 call was' : `${denied} calls were`;
  const reason = `${calls} denied, since nobody can be asked here: to allow what tools declare, run it with --approve all`;
  const also = judged.reason === undefined ? '' : `; and ${judged.reason}`;
  return { result, exitStatus: EXIT.denied, word: `${judged.word}, with calls denied`, reason: `${reason}${also}` };
}

/** The end of a turn that waits for a person; `kept` says how to find its session again. */
export function concludeWaiting(
  gates: readonly PendingGate[],
  kept: { readonly shown: string; readonly storeArgument: string } | undefined,
): RunEnd {
  const calls = gates.length === 1 ? '1 call waits' : `${gates.length} calls wait`;
  const which = gates.length === 1 ? '' : ' GATE';
  const waiting = { result: undefined, exitStatus: EXIT.waiting, word: 'waiting for you', gates };
  if (kept === undefined) return { ...waiting, reason: `${calls} for an answer, and the session is not kept` };
  const { shown, storeArgument } = kept;
  const advice = `looprig answer ${shown}${which} yes${storeArgument} (or no), then looprig resume ${shown}${storeArgument}`;
  return { ...waiting, reason: `${calls} for your answer: ${advice}` };
}

type Judged = Pick<RunEnd, 'exitStatus' | 'word' | 'reason'>;

function judge(result: TurnResult, remote: Remote | undefined): Judged {
  switch (result.status) {
    case 'done':
      return judgeAnswer(result);
    case 'failed':
      return judgeFailure(result.error, remote);
    case 'interrupted': {
      const names = result.leftBehind.map(({ toolName }) => toolName).join(', ');
      const reason = names === '' ? undefined : `these tools did not stop in time and were left running: ${names}`;
      return { exitStatus: EXIT.interrupted, word: 'interrupted', reason };
    }
    case 'released':
      return { exitStatus: EXIT.waiting, word: 'left', reason: 'another process goes on with the turn' };
  }
}

function judgeAnswer({ limited, finishReason, text }: Extract<TurnResult, { status: 'done' }>): Judged {
  if (limited !== undefined) return judgeLimit(limited, 'answered at a limit');
  const { unified } = finishReason;
  if (unified === 'length') {
    const reason = 'the answer was cut off by the output limit of the model: ask for a shorter one';
    return { exitStatus: EXIT.done, word: 'done, cut off', reason };
  }
  if (unified === 'content-filter') {
    const reason = "the provider's content filter ended the answer: ask in another way";
    return { exitStatus: EXIT.done, word: 'done, filtered', reason };
  }
  if (text.trim() === '') {
    const reason = 'the answer holds no text: ask again, or in another way';
    return { exitStatus: EXIT.done, word: 'done, without text', reason };
  }
  return { exitStatus: EXIT.done, word: 'done', reason: undefined };
}

function judgeFailure(error: Extract<TurnResult, { status: 'failed' }>['error'], remote: Remote | undefined): Judged {
  if (ToolLimitError.is(error)) return judgeLimit(error, 'failed at a limit');
  if (TurnTimeoutError.is(error)) {
    const reason = `${error.message}: allow more with --limits turnTimeoutMs=${error.timeoutMs * 2}`;
    return { exitStatus: EXIT.limit, word: 'failed at a limit', reason };
  }
  if (JournalConflictError.is(error)) {
    const reason = 'another process went on with this session: what it recorded stands, and this turn is not its own';
    return { exitStatus: EXIT.inUse, word: 'stopped', reason };
  }
  const reason = ModelError.is(error) ? explainModelFailure(error, remote) : shortened(error.message);
  return { exitStatus: EXIT.failed, word: 'failed', reason };
}

function judgeLimit(reached: LimitReached, word: string): Judged {
  const { message } = new ToolLimitError(reached);
  const advice =
    reached.limit === 'repeat'
      ? 'ask in another way, or another model'
      : `allow more with --limits ${reached.limit}=${enough(reached, reached.limit)}`;
  return { exitStatus: EXIT.limit, word, reason: `${message}: ${advice}` };
}

/** Twice the limit, and no less than what was asked for. */
function enough(reached: LimitReached, limit: Exclude<LimitName, 'repeat'>): number {
  const max = { iterations: reached.maxIterations, calls: reached.maxCalls, tokens: reached.maxTokens }[limit];
  return Math.max(2 * max, reached[limit]);
}
