/** Asks the person at the terminal about gates, and takes the answers to the session. */
import { type GateAnswer, GateError, type PendingGate, type Session } from '../index.ts';
import { gateLines, inputLines } from './gate-text.ts';
import type { LineInput } from './line-input.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { View } from './view.ts';

const PROMPT = '  allow? y, n, a, e, s, q (?: help) › ';

const HELP: readonly string[] = [
  '  y (yes): this call may do it, once',
  '  n (no): it may not; words after it are told to the model: n not the tests',
  '  a (always): it may, and so may every like call of this session',
  '  e (edit): it may, with other arguments, as JSON: e {"path":"notes.md"}',
  '  s (show): the arguments of the call, whole',
  '  q (quit): ends here, and leaves the question open for later',
];

const NO_JSON: readonly string[] = ['  what stands after e is not JSON: write it as e {"path":"notes.md"}'];

/** What asking needs to know. */
export interface GateDeskParts {
  readonly session: Session;
  readonly view: Pick<View, 'ask' | 'answered'>;
  readonly input: Pick<LineInput, 'line'>;
  readonly secrets: SecretFilter;
  readonly stop: AbortSignal;
  /** The arguments of a call that waits. */
  inputOf(callId: string): Promise<unknown>;
}

/** What the person wants: an answer, or to see more, or to leave. */
type Wish = GateAnswer | 'show' | 'help' | 'no JSON' | 'leave';

/** A value that JSON can carry. */
type Json = Extract<GateAnswer, { decision: 'edit' }>['input'];

export class GateDesk {
  readonly #parts: GateDeskParts;

  constructor(parts: GateDeskParts) {
    this.#parts = parts;
  }

  /** Asks until the gate is decided. Gives `left` where the person wants to decide later, or no answer can come. */
  async decide(gate: PendingGate): Promise<'decided' | 'left'> {
    const { session, view, input, secrets, stop } = this.#parts;
    const question = gateLines(gate, secrets);
    let lines = question;
    for (;;) {
      const line = await input.line(() => view.ask(lines, PROMPT), stop);
      if (line === undefined) return stop.aborted ? 'decided' : 'left'; // an interrupt closes the gate
      view.answered();
      const wish = wishOf(line);
      if (wish === 'leave') return 'left';
      if (wish === 'help') lines = HELP;
      else if (wish === 'no JSON') lines = NO_JSON;
      else if (wish === 'show') lines = inputLines(await this.#parts.inputOf(gate.callId), secrets);
      else {
        const problem = await refusal(session.answer(gate.gateId, wish));
        if (problem === undefined) return 'decided';
        lines = [`  ${oneLine(problem, secrets)}`];
      }
    }
  }
}

function wishOf(line: string): Wish {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(line) ?? [];
  switch (word.toLowerCase()) {
    // Whoever goes on after a word that allows has most likely not meant it.
    case 'y':
    case 'yes':
      return rest === '' ? { decision: 'approve' } : 'help';
    case 'n':
    case 'no':
      return rest === '' ? { decision: 'deny' } : { decision: 'deny', reason: rest };
    case 'a':
    case 'always':
      return rest === '' ? { decision: 'approveAlways' } : 'help';
    case 'e':
    case 'edit': {
      const input = parsed(rest);
      if (rest === '') return 'help';
      return input === undefined ? 'no JSON' : { decision: 'edit', input };
    }
    case 's':
    case 'show':
      return 'show';
    case 'q':
    case 'quit':
      return 'leave';
    default:
      return 'help';
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Why an answer was not taken, where another one may be. */
async function refusal(answer: Promise<void>): Promise<string | undefined> {
  try {
    await answer;
    return undefined;
  } catch (error) {
    if (GateError.is(error) && error.kind === 'invalid_answer') return error.message;
    throw error;
  }
}
