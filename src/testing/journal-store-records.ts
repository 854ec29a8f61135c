/** Records and other data that the tests of a journal store write. */
import { deepFreeze } from '../freeze.ts';
import type { JournalRecord } from '../journal/journal.ts';
import type { JSONValue } from '../model/model.ts';

/** A session id that no other test uses. */
export function freshId(): string {
  return crypto.randomUUID();
}

/** The whole numbers from `from` to `to`. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** So many bytes, with every value among them. */
export function everyByte(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => index % 256);
}

/** The first record of a session. */
export function opened(seq: number, at: number = seq * 10): JournalRecord {
  const entry = { loop: 'kit', loopId: 'loop-1', policyRevision: 'revision-1', mode: '' };
  return record({ type: 'session.opened', ...entry, seq, at });
}

/** A record that holds a text. */
export function note(seq: number, text: string = `note ${seq}`, at: number = seq * 10): JournalRecord {
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text }] };
  return record({ type: 'input.received', inputId: `input-${seq}`, as: 'turn', message, seq, at });
}

/** A record that holds any JSON value. */
export function output(seq: number, value: JSONValue): JournalRecord {
  const call = { turnId: 'turn-1', stepId: 'step-1', callId: `call-${seq}`, toolName: 'tool', durationMs: 1 };
  return record({
    type: 'tool.completed',
    ...call,
    outcome: 'done',
    output: { type: 'json', value },
    seq,
    at: seq * 10,
  });
}

/** A record with two files: bytes, and a URL with a member that is `undefined`. */
export function withFiles(seq: number, data: Uint8Array, url: URL): JournalRecord {
  const mediaType = 'application/octet-stream';
  const link = { type: 'file' as const, mediaType, data: { type: 'url' as const, url } };
  const content = [{ type: 'file' as const, mediaType, data: { type: 'data' as const, data } }, link];
  // As a program may well write it, though its type does not say so.
  Object.assign(link, { filename: undefined });
  return record({
    type: 'input.received',
    inputId: `input-${seq}`,
    as: 'turn',
    message: { role: 'user', content },
    seq,
    at: seq * 10,
  });
}

/** A record that holds limits. */
function turnStarted(seq: number, tokens: number): JournalRecord {
  const limits = { iterations: 25, calls: 100, parallel: 8, resultBytes: 102_400, callTimeoutMs: 600_000 };
  return record({
    type: 'turn.started',
    turnId: 'turn-1',
    mode: '',
    limits: { ...limits, turnTimeoutMs: 1_000, tokens },
    seq,
    at: seq * 10,
  });
}

/** Records of unlike shapes: without fields of their own, with nested ones, with lists and large numbers. */
export function severalKinds(seq: number): JournalRecord[] {
  const turnId = 'turn-1';
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, cachedInputTokens: 0, reasoningTokens: 0 };
  return [
    record({ type: 'mode.changed', mode: 'careful', seq, at: 1_700_000_000_000 }),
    turnStarted(seq + 1, 9_007_199_254_740_991),
    output(seq + 2, null),
    record({ type: 'step.done', turnId, stepId: 'step-1', seq: seq + 3, at: 1_700_000_000_002 }),
    record({
      type: 'turn.interrupted',
      turnId,
      reason: 'the user left',
      leftBehind: [{ callId: 'call-1', toolName: 'tool' }],
      usage,
      steps: 1,
      iterations: 1,
      calls: 1,
      seq: seq + 4,
      at: 1_700_000_000_003,
    }),
  ];
}

function record(value: JournalRecord): JournalRecord {
  return deepFreeze(value);
}
