/** Errors that providers tell in the middle of a stream, and what else should not be in one. */
import type { TurnEvent } from 'looprig';
import { describe, expect, it } from 'vitest';
import { ask, errorOf } from './broken-asking.ts';
import { whole } from './broken-server.ts';
import { answering, streaming, WIRES, type Wire } from './broken-wire.ts';

const wires = WIRES.map(wire => [wire.name, wire] as const);

function shown(events: readonly TurnEvent[]): string {
  return events.map(event => (event.type === 'text.delta' ? event.text : '')).join('');
}

const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const wireNamed = (name: string): Wire => WIRES.find(wire => wire.name === name)!;

/** Errors in the middle of a stream: of which format, what kind, whether it passes, and what is sent. */
const IN_STREAM: readonly (readonly [string, string, boolean, string])[] = [
  ...(['overloaded_error', 'rate_limit_error', 'api_error'] as const).map(
    type =>
      ['anthropic', type, true, event({ type: 'error', error: { type, message: 'the sentence' } }, 'error')] as const,
  ),
  ...(['invalid_request_error', 'authentication_error', 'request_too_large'] as const).map(
    type =>
      ['anthropic', type, false, event({ type: 'error', error: { type, message: 'the sentence' } }, 'error')] as const,
  ),
  ...(
    [
      ['server_error', null, true],
      ['tokens', 'rate_limit_exceeded', true],
      ['invalid_request_error', 'context_length_exceeded', false],
      ['insufficient_quota', 'insufficient_quota', false],
    ] as const
  ).flatMap(([type, code, passes]) =>
    ['openai chat', 'openai-compatible'].map(
      name =>
        [
          name,
          `${type} ${code}`,
          passes,
          event({ error: { message: 'the sentence', type, code, param: null } }),
        ] as const,
    ),
  ),
  ...(
    [
      [502, true],
      [429, true],
      ['503', true],
      [400, false],
    ] as const
  ).map(
    ([code, passes]) =>
      [
        'openai-compatible',
        `code ${JSON.stringify(code)}`,
        passes,
        event({ error: { message: 'the sentence', code } }),
      ] as const,
  ),
  ...(
    [
      ['server_error', true],
      ['rate_limit_exceeded', true],
      ['invalid_prompt', false],
    ] as const
  ).flatMap(([code, passes]) => [
    ['openai responses', `error ${code}`, passes, responsesError(code)] as const,
    ['openai responses', `response.failed ${code}`, passes, responsesFailed(code)] as const,
  ]),
  ...(
    [
      [503, 'UNAVAILABLE', true],
      [429, 'RESOURCE_EXHAUSTED', true],
      [500, 'INTERNAL', true],
      [400, 'INVALID_ARGUMENT', false],
    ] as const
  ).map(
    ([code, status, passes]) =>
      ['google', status, passes, event({ error: { code, message: 'the sentence', status } })] as const,
  ),
];

function responsesError(code: string): string {
  return event(
    { type: 'error', sequence_number: 9, error: { type: code, code, message: 'the sentence', param: null } },
    'error',
  );
}

function responsesFailed(code: string): string {
  const response = {
    id: 'r',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'failed',
    output: [],
    usage: null,
  };
  const error = { code, message: 'the sentence' };
  return event(
    { type: 'response.failed', sequence_number: 9, response: { ...response, incomplete_details: null, error } },
    'response.failed',
  );
}

describe('an error in the middle of a stream', () => {
  it.each(IN_STREAM)('%s: %s, after text was shown (passes: %s)', async (name, _, passes, error) => {
    const wire = wireNamed(name);
    const broken = whole(streaming(wire, ['first', ' try'], error));
    const bad = await ask(wire, [broken]);
    expect(bad.requests).toHaveLength(passes ? 3 : 1);
    expect(errorOf(bad)).toMatchObject({ kind: 'stream_broken', attempts: passes ? 3 : 1 });
    expect(errorOf(bad).message).toMatch(/: the sentence$/);
    expect(bad.result.text).toBe('first try');

    const good = await ask(wire, [broken, whole(answering(wire, 'second try'))]);
    if (!passes) return expect(good.result.status).toBe('failed');
    expect(good.result).toMatchObject({ status: 'done', text: 'second try' });
    const place = good.events.findIndex(({ type }) => type === 'step.retrying');
    expect(shown(good.events.slice(0, place))).toBe('first try');
    expect(shown(good.events.slice(place))).toBe('second try');
  });

  it.each(IN_STREAM)('%s: %s, before anything was shown (passes: %s)', async (name, _, passes, error) => {
    const wire = wireNamed(name);
    const broken = whole({ status: 200, headers: { 'content-type': 'text/event-stream' }, sse: error });
    const bad = await ask(wire, [broken]);
    expect(bad.requests).toHaveLength(passes ? 3 : 1);
    expect(errorOf(bad).message).toMatch(/: the sentence$/);
    const good = await ask(wire, [broken, whole(answering(wire, 'hello'))]);
    expect(good.result.status).toBe(passes ? 'done' : 'failed');
  });

  it.each(wires)('%s: garbage in the place of an event breaks the stream, and is asked for again', async (_, wire) => {
    for (const garbage of ['data: {"half": \n\n', 'data: <html>\n\n', 'data: 7\n\n', 'data: null\n\n']) {
      const broken = whole(streaming(wire, ['first'], garbage + wire.end));
      const { result } = await ask(wire, [broken, whole(answering(wire, 'second'))]);
      expect(result, garbage).toMatchObject({ status: 'done', text: 'second' });
    }
  });
});
