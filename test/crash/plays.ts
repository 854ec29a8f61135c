/** What the sessions do whose processes are killed: inputs, what the model says to them, and what a person says to gates. Data alone. */
import type { GateAnswer, LoopOptions, Message } from '../../src/index.ts';
import type { ScriptedCall, ScriptedReply } from '../../src/testing/scripted-reply.ts';

/** A reply, or one that depends on what the model is shown. */
type PlayedReply = ScriptedReply | ((prompt: readonly Message[]) => ScriptedReply);

export interface Play {
  /** Inputs that are given together: the first begins, the others wait. A group follows when the one before it is through. */
  readonly inputs: readonly (readonly string[])[];
  /** What is said to a running turn, from the beginning of a call on. */
  readonly steers?: readonly { readonly text: string; readonly on: string }[];
  /** By the input that the model answers. */
  readonly replies: Readonly<Record<string, readonly PlayedReply[]>>;
  /** What a person answers, by the id of the call; where none stands here, no gate may open. */
  readonly answers?: Readonly<Record<string, GateAnswer>>;
  readonly loop?: Pick<LoopOptions, 'limits' | 'atLimit' | 'repeat'>;
}

const call = (tool: string, id: string, input: object = {}): ScriptedCall => ({ tool, id, input });

/** Reads on in the result that was kept for a call. */
function readOn(callId: string, id: string): (prompt: readonly Message[]) => ScriptedReply {
  return prompt => {
    const parts = prompt.flatMap(message => (message.role === 'tool' ? message.content : []));
    const kept = parts.find(part => part.type === 'tool-result' && part.toolCallId === callId);
    const [found] = /\b[0-9a-f]{16,64}\b/.exec(JSON.stringify(kept)) ?? [];
    return { calls: [call('read_tool_result', id, { id: found ?? 'no id was shown', offset: 1_500 })] };
  };
}

export const PLAYS = {
  'all that may run again': {
    inputs: [['gather'], ['more', 'and more']],
    loop: { limits: { parallel: 3, resultBytes: 2_000 } },
    replies: {
      gather: [
        {
          text: 'I look.',
          calls: [
            call('note', 'g1', { n: 1, ms: 4 }),
            call('note', 'g2', { n: 2, ms: 9 }),
            call('row', 'g3', { n: 3, ms: 3, key: 'k' }),
            call('row', 'g4', { n: 4, ms: 3, key: 'k' }),
            call('ghost', 'g5'),
            { tool: 'note', id: 'g6', inputText: '{"n": ' },
          ],
        },
        {
          calls: [
            call('alone', 'g7', { n: 7, ms: 3 }),
            call('note', 'g8', { n: 8 }),
            call('big', 'g9', { n: 9, bytes: 6_000 }),
          ],
        },
        readOn('g9', 'g10'),
        { calls: [call('fails', 'g11', { n: 11 }), call('big', 'g12', { n: 12, bytes: 9_000, ms: 2 })] },
        { text: 'gathered' },
      ],
      more: [
        { calls: [call('note', 'm1', { n: 1, ms: 2 }), call('alone', 'm2', { n: 2, ms: 2 })] },
        readOn('g12', 'm3'),
        { text: 'more' },
      ],
      'and more': [
        {
          calls: ['x', 'y', 'x', 'y', 'x'].map((key, index) => call('row', `n${index}`, { n: index, ms: 3, key })),
        },
        { text: 'and more' },
      ],
    },
  },
  'effects that must happen once': {
    inputs: [['pay'], ['pay again']],
    loop: { limits: { parallel: 3 } },
    replies: {
      pay: [
        {
          calls: [
            call('pay', 'p1', { n: 1, ms: 5 }),
            call('note', 'p2', { n: 2, ms: 6 }),
            call('pay', 'p3', { n: 3, ms: 2 }),
            call('row-once', 'p4', { n: 4, ms: 3, key: 'k' }),
            call('row-once', 'p5', { n: 5, ms: 3, key: 'k' }),
            call('write', 'p6', { n: 6, target: '/ok/a' }),
            call('write', 'p7', { n: 7, target: '/no/b' }),
          ],
        },
        {
          text: 'And now one after another.',
          calls: [
            call('alone-once', 'p8', { n: 8, ms: 3 }),
            call('pay', 'p9', { n: 9, ms: 3 }),
            call('alone-once', 'p10', { n: 10, ms: 2 }),
          ],
        },
        { text: 'paid' },
      ],
      'pay again': [
        { calls: [1, 2, 3, 4, 5].map(n => call('pay', `a${n}`, { n, ms: n })) },
        { calls: [call('write', 'a6', { n: 6, target: '/ok/deep/c', ms: 2 })] },
        { text: 'paid again' },
      ],
    },
  },
  'a person is asked': {
    inputs: [['ask'], ['ask more']],
    answers: {
      q1: { decision: 'approve' },
      q2: { decision: 'deny', reason: 'not that' },
      q3: { decision: 'edit', input: { n: 33, ms: 4, target: 't3' } },
      q5: { decision: 'approveAlways' },
      r2: { decision: 'approve' },
    },
    replies: {
      ask: [
        {
          calls: [
            call('pay', 'q0', { n: 0, ms: 2 }),
            call('ask', 'q1', { n: 1, ms: 3, target: 't1' }),
            call('ask', 'q2', { n: 2, target: 't2' }),
            call('ask-again', 'q3', { n: 3, ms: 4, target: 't3' }),
            call('write', 'q4', { n: 4, target: '/ok/x' }),
          ],
        },
        { calls: [call('ask-again', 'q5', { n: 5, ms: 3, target: 't5' })] },
        { text: 'asked' },
      ],
      'ask more': [
        { calls: [call('ask-again', 'r1', { n: 1, ms: 2, target: 't5' }), call('ask', 'r2', { n: 2, target: 't6' })] },
        { text: 'asked more' },
      ],
    },
  },
  'inputs that wait and steer': {
    inputs: [['first', 'second', 'third'], ['fourth']],
    steers: [
      { text: 'by the way', on: 'f1' },
      { text: 'and also', on: 's1' },
    ],
    replies: {
      first: [
        { calls: [call('pay', 'f1', { n: 1, ms: 8 }), call('note', 'f2', { n: 2, ms: 3 })] },
        { calls: [call('note', 'f3', { n: 3, ms: 3 })] },
        { text: 'one' },
      ],
      second: [{ calls: [call('note', 's1', { n: 1, ms: 6 })] }, { text: 'two' }],
      third: [{ text: 'three' }],
      fourth: [{ calls: [call('pay', 'h1', { n: 1, ms: 2 })] }, { text: 'four' }],
    },
  },
  'limits, repeats, and a tool that ends the turn': {
    inputs: [['again'], ['after'], ['to the end']],
    loop: { limits: { iterations: 5, calls: 9, parallel: 2 }, atLimit: 'answer', repeat: { warn: 2, stop: 5 } },
    replies: {
      again: [
        ...[1, 2, 3, 4].map(step => ({
          calls: [call('note', `l${step}a`, { n: 1, ms: 3 }), call('note', `l${step}b`, { n: step })],
        })),
        { calls: [call('note', 'l5a', { n: 1 }), call('note', 'l5b', { n: 5 })] },
        { text: 'so far', delayMs: 8 },
      ],
      after: [{ calls: [call('note', 'k1', { n: 1, ms: 2 })] }, { text: 'after' }],
      'to the end': [{ calls: [call('ends', 'e1', { n: 1 }), call('note', 'e2', { n: 2, ms: 3 })] }],
    },
  },
} as const satisfies Readonly<Record<string, Play>>;

export type PlayName = keyof typeof PLAYS;

/** The play of this name. */
export function playOf(name: PlayName): Play {
  return PLAYS[name];
}

/** What the model says to what it is shown: it counts its own messages since the last input that it knows. */
export function replyTo({ replies }: Play, prompt: readonly Message[]): ScriptedReply {
  const place = prompt.findLastIndex(message => inputOf(message, replies) !== undefined);
  const text = place < 0 ? undefined : inputOf(prompt[place]!, replies);
  const spoken = prompt.slice(place + 1).filter(({ role }) => role === 'assistant').length;
  const reply = text === undefined ? undefined : replies[text]?.[spoken];
  return (typeof reply === 'function' ? reply(prompt) : reply) ?? { text: NOTED };
}

/** What the model says to what came too late for the turn that it was to steer. */
export const NOTED = 'noted';

/** How an input begins that is given instead of taking up a turn: the model goes on with what it was at. */
export const NEVER_MIND = 'never mind';

function inputOf(message: Message, replies: Play['replies']): string | undefined {
  if (message.role !== 'user') return undefined;
  const [part] = message.content;
  return part?.type === 'text' && Object.hasOwn(replies, part.text) ? part.text : undefined;
}
