/** Random turns in hostile company, told to a page: whatever happens in a turn, the stream is valid and says what the turn says. */
import fc from 'fast-check';
import { EVENT_DURABILITY, isTerminal, type TurnEvent } from 'looprig';
import { type ToldTurn, toUIMessageStream } from 'looprig/ai';
import { describe, expect, it } from 'vitest';
import { runScenario, scenarios } from '../support/scenario.ts';
import { type Page, readPage, textOf } from './page.ts';

/** Events that were recorded, as a turn. */
function toldTurn(id: string, events: readonly TurnEvent[]): ToldTurn {
  return {
    id,
    subscribe: async function* (): AsyncGenerator<TurnEvent, undefined> {
      yield* events;
      return undefined;
    },
  };
}

/** What the turn's events say that its text is: of steps that were committed, and of what was shown of the last one. */
function toldText(events: readonly TurnEvent[]): string {
  let committed = '';
  let open = '';
  for (const event of events) {
    if (event.type === 'text.delta') open += event.text;
    else if (event.type === 'step.started' || event.type === 'step.retrying') open = '';
    else if (event.type === 'step.done') {
      committed += event.text;
      open = '';
    }
  }
  return committed + open;
}

function check(id: string, events: readonly TurnEvent[], { chunks, message, errors }: Page): void {
  const end = events.at(-1)!;
  expect(isTerminal(end)).toBe(true);
  expect(chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
  expect(chunks.at(-1)?.type).toBe('finish');
  expect(chunks[0]).toEqual({ type: 'start', messageId: id });
  expect(errors).toHaveLength(end.type === 'turn.failed' ? 1 : 0);
  expect(chunks.filter(({ type }) => type === 'abort')).toHaveLength(end.type === 'turn.interrupted' ? 1 : 0);
  expect(textOf(message)).toBe(toldText(events));

  const shown = new Map(
    message.parts.flatMap(part => ('toolCallId' in part ? [[part.toolCallId, part] as const] : [])),
  );
  const results = events.filter(event => event.type === 'tool.completed');
  for (const { callId, isError, output } of results) {
    const part = shown.get(callId);
    const state = part?.state;
    if (!isError) {
      const value =
        output.type === 'content' ? { type: 'looprig-parts', parts: output.value } : Reflect.get(output, 'value');
      expect({ callId, state, output: part?.output }).toEqual({ callId, state: 'output-available', output: value });
    } else expect(['output-error', 'output-denied']).toContain(state);
  }
  const called = new Set(events.flatMap(event => (event.type === 'tool.called' ? [event.callId] : [])));
  const others = [...shown].filter(([callId]) => !called.has(callId));
  expect(
    others.map(([, { state }]) => state).filter(state => state !== 'output-error' && state !== 'output-denied'),
  ).toEqual([]);
}

describe('a random turn on a page', () => {
  it('is a valid stream that ends once and says what the turn says, to a reader that was there and to one that comes late', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const { turnId, events } = await runScenario(scenario);
        check(turnId, events, await readPage(toUIMessageStream(toldTurn(turnId, events))));
        const recorded = events.filter(({ type }) => EVENT_DURABILITY[type] === 'enduring');
        check(turnId, recorded, await readPage(toUIMessageStream(toldTurn(turnId, recorded))));
      }),
      { numRuns: 120 },
    );
  }, 120_000);
});
