/** How a run ended, judged: its exit status, in a few words, and in a sentence that says what to do. */
import {
  type LimitName,
  type LimitReached,
  ModelError,
  ToolLimitError,
  type TurnResult,
  TurnTimeoutError,
} from '../index.ts';
import type { RunEnd } from './view.ts';

/** The exit statuses of the program. */
export const EXIT: Readonly<
  Record<'done' | 'failed' | 'usage' | 'limit' | 'denied' | 'interrupted' | 'terminated', number>
> = Object.freeze({ done: 0, failed: 1, usage: 2, limit: 3, denied: 4, interrupted: 130, terminated: 143 });

/** What is known beside the result. */
interface Circumstances {
  /** Calls that were denied because nobody could be asked. */
  readonly denied: number;
  /** The variable that the model's key came from, if it has one. */
  readonly keyVariable: string | undefined;
}

/** Judges a result. A call that was denied comes first: the answer was made without it. */
export function conclude(result: TurnResult, { denied, keyVariable }: Circumstances): RunEnd {
  const judged = judge(result, keyVariable);
  if (result.status === 'interrupted' || denied === 0) return { result, ...judged };
  const calls = denied === 1 ? '1 call was' : `${denied} calls were`;
  const reason = `${calls} denied, since nobody can be asked here: to allow what tools declare, run it with --approve all`;
  const also = judged.reason === undefined ? '' : `; and ${judged.reason}`;
  return { result, exitStatus: EXIT.denied, word: `${judged.word}, with calls denied`, reason: `${reason}${also}` };
}

type Judged = Omit<RunEnd, 'result'>;

function judge(result: TurnResult, keyVariable: string | undefined): Judged {
  switch (result.status) {
    case 'done':
      return judgeAnswer(result);
    case 'failed':
      return judgeFailure(result.error, keyVariable);
    case 'interrupted': {
      const names = result.leftBehind.map(({ toolName }) => toolName).join(', ');
      const reason = names === '' ? undefined : `these tools did not stop in time and were left running: ${names}`;
      return { exitStatus: EXIT.interrupted, word: 'interrupted', reason };
    }
  }
}

function judgeAnswer({ limited, finishReason }: Extract<TurnResult, { status: 'done' }>): Judged {
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
  return { exitStatus: EXIT.done, word: 'done', reason: undefined };
}

function judgeFailure(
  error: Extract<TurnResult, { status: 'failed' }>['error'],
  keyVariable: string | undefined,
): Judged {
  if (ToolLimitError.is(error)) return judgeLimit(error, 'failed at a limit');
  if (TurnTimeoutError.is(error)) {
    const reason = `${error.message}: allow more with --limits turnTimeoutMs=${error.timeoutMs * 2}`;
    return { exitStatus: EXIT.limit, word: 'failed at a limit', reason };
  }
  return {
    exitStatus: EXIT.failed,
    word: 'failed',
    reason: `${shortened(error.message)}${adviceFor(error, keyVariable)}`,
  };
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

/** A provider's message may be a page. */
const MOST_CHARACTERS = 400;

function shortened(message: string): string {
  return message.length <= MOST_CHARACTERS ? message : `${message.slice(0, MOST_CHARACTERS)}…`;
}

function adviceFor(error: Error, keyVariable: string | undefined): string {
  if (!ModelError.is(error)) return '';
  const { cause } = error;
  const status: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'statusCode') : undefined;
  const isRefused = status === 401 || status === 403;
  return isRefused && keyVariable !== undefined ? ` (check the key in ${keyVariable})` : '';
}
