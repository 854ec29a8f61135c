/** Servers that stop answering: a turn ends when its user or its time says so, and the connection is really closed. */
import { type Session, TurnTimeoutError } from 'looprig';
import type { ManualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { openAt } from './broken-asking.ts';
import { type Answer, type BrokenServer, failing, hangingAt, serveAnswers, silent, whole } from './broken-server.ts';
import { answering, streaming, WIRES, type Wire } from './broken-wire.ts';

const bothWays = WIRES.flatMap(wire => [true, false].map(stream => [wire.name, stream, wire] as const));
const wires = WIRES.map(wire => [wire.name, wire] as const);

interface Hanging {
  readonly server: BrokenServer;
  readonly session: Session;
  readonly clock: ManualClock;
}

/** A session whose first request gets these answers, the last of which hangs; all after them are answered. */
async function withHanging(
  wire: Wire,
  answers: readonly Answer[],
  stream: boolean,
  test: (hanging: Hanging) => Promise<void>,
): Promise<void> {
  await using server = await serveAnswers(index => answers[index] ?? whole(answering(wire, 'fine', stream)));
  const { session, clock } = await openAt(wire, server.url, { stream });
  await using _closed = session;
  await test({ server, session, clock });
  expect(await session.submit('and now?').result).toMatchObject({ status: 'done', text: 'fine' });
}

/** Waits for what really takes time. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise(resolve => setTimeout(resolve, 1));
}

/** A whole answer's first half: two of its pieces of text, and no end. */
function half(wire: Wire, ...pieces: readonly string[]): Answer {
  const recorded = streaming(wire, pieces);
  return hangingAt(recorded, Buffer.byteLength(recorded.sse!) - Buffer.byteLength(wire.end));
}

describe('a server that never answers', () => {
  it.each(bothWays)('is left when the time of the turn is over: %s (stream: %s)', async (_, stream, wire) => {
    await withHanging(wire, [silent], stream, async ({ server, session, clock }) => {
      const turn = session.submit('go', { limits: { turnTimeoutMs: 60_000 } });
      await until(() => server.received.length === 1);
      let isOver = false;
      void turn.result.then(() => {
        isOver = true;
      });
      await clock.advance(59_999);
      expect(isOver).toBe(false);
      await clock.advance(1);
      const result = await turn.result;
      expect(result).toMatchObject({ status: 'failed', text: '', error: { kind: 'turn_timeout', timeoutMs: 60_000 } });
      expect(TurnTimeoutError.is(result.status === 'failed' && result.error)).toBe(true);
      expect(await server.received[0]!.ended).toBe('client left');
      expect(session.history.map(({ role }) => role)).toEqual(['user']);
    });
  });

  it.each(bothWays)('is left by an interrupt: %s (stream: %s)', async (_, stream, wire) => {
    await withHanging(wire, [silent], stream, async ({ server, session }) => {
      const turn = session.submit('go');
      await until(() => server.received.length === 1);
      turn.interrupt('enough');
      expect(await turn.result).toMatchObject({ status: 'interrupted', reason: 'enough', text: '' });
      expect(await server.received[0]!.ended).toBe('client left');
      expect(server.received).toHaveLength(1);
    });
  });

  it.each(wires)('after its headers is left by an interrupt: %s', async (_, wire) => {
    for (const stream of [true, false]) {
      await withHanging(wire, [hangingAt(answering(wire, 'hello', stream), 0)], stream, async ({ server, session }) => {
        const turn = session.submit('go');
        await until(() => server.received.length === 1);
        turn.interrupt();
        expect(await turn.result).toMatchObject({ status: 'interrupted', text: '' });
        expect(await server.received[0]!.ended).toBe('client left');
      });
    }
  });

  it.each(wires)('is left when its session is closed: %s', async (_, wire) => {
    await using server = await serveAnswers(() => silent);
    const { session } = await openAt(wire, server.url);
    const turn = session.submit('go');
    await until(() => server.received.length === 1);
    await session.close();
    expect(await turn.result).toMatchObject({ status: 'interrupted' });
    expect(await server.received[0]!.ended).toBe('client left');
  });
});

describe('a server that stops in the middle of its answer', () => {
  it.each(wires)('is left by an interrupt, and its text is kept with a mark: %s', async (_, wire) => {
    await withHanging(wire, [half(wire, 'Hello', ' wor')], true, async ({ server, session }) => {
      const turn = session.submit('go');
      let shown = '';
      for await (const event of turn) {
        if (event.type === 'text.delta') shown += event.text;
        if (shown === 'Hello wor') turn.interrupt();
      }
      expect(await turn.result).toMatchObject({ status: 'interrupted', text: 'Hello wor' });
      expect(await server.received[0]!.ended).toBe('client left');
      expect(session.history.at(-1)).toMatchObject({
        ...{ role: 'assistant', content: [{ type: 'text', text: 'Hello wor' }] },
        providerOptions: { looprig: { incomplete: 'interrupted' } },
      });
    });
  });

  it.each(wires)('is left when the time of the turn is over, and its text is kept with a mark: %s', async (_, wire) => {
    await withHanging(wire, [half(wire, 'Hello', ' wor')], true, async ({ server, session, clock }) => {
      const turn = session.submit('go', { limits: { turnTimeoutMs: 60_000 } });
      let shown = '';
      for await (const event of turn) {
        if (event.type === 'text.delta') shown += event.text;
        if (shown === 'Hello wor' && event.type === 'text.delta') void clock.advance(60_000);
      }
      expect(await turn.result).toMatchObject({ status: 'failed', error: { kind: 'turn_timeout' }, text: 'Hello wor' });
      expect(await server.received[0]!.ended).toBe('client left');
      expect(session.history.at(-1)).toMatchObject({ providerOptions: { looprig: { incomplete: 'timed_out' } } });
    });
  });

  it.each(wires)('at its second try has only the text of that one kept: %s', async (_, wire) => {
    const first = hangingThenCut(wire);
    await withHanging(wire, [first, half(wire, 'second')], true, async ({ server, session, clock }) => {
      const turn = session.submit('go');
      for await (const event of turn) {
        if (event.type === 'step.retrying') void passing(clock, event.delayMs);
        if (event.type === 'text.delta' && event.text === 'second') turn.interrupt();
      }
      expect(await turn.result).toMatchObject({ status: 'interrupted', text: 'second' });
      expect(JSON.stringify(session.history)).not.toContain('first');
      expect(await server.received[1]!.ended).toBe('client left');
    });
  });
});

describe('an end of the turn in the wait before a retry', () => {
  const wire = WIRES[0]!;

  it.each(['interrupt', 'time'] as const)(
    'by %s asks no more, and keeps nothing of the try that was dropped',
    async how => {
      await withHanging(wire, [hangingThenCut(wire)], true, async ({ server, session, clock }) => {
        const turn = session.submit('go', { limits: { turnTimeoutMs: 400 } });
        for await (const event of turn) {
          if (event.type !== 'step.retrying') continue;
          if (how === 'interrupt') turn.interrupt();
          else void passing(clock, 400);
        }
        expect(await turn.result).toMatchObject({ status: how === 'interrupt' ? 'interrupted' : 'failed', text: '' });
        expect(server.received).toHaveLength(1);
        expect(session.history.map(({ role }) => role)).toEqual(['user']);
      });
    },
  );

  it('keeps nothing waiting: the clock has no timer left', async () => {
    await withHanging(wire, [failing(503, { headers: { 'retry-after': '200' } })], true, async ({ session, clock }) => {
      const turn = session.submit('go');
      for await (const event of turn) if (event.type === 'step.retrying') turn.interrupt();
      expect(await turn.result).toMatchObject({ status: 'interrupted' });
      expect(clock.pending).toBe(0);
    });
  });
});

/** Text is shown, then the connection is gone. */
function hangingThenCut(wire: Wire): Answer {
  return async response => {
    await half(wire, 'first')(response);
    await new Promise(resolve => setTimeout(resolve, 20)); // what a client has not read when the connection goes is lost
    response.destroy();
  };
}

/** Lets time pass as soon as something waits for it. */
async function passing(clock: ManualClock, ms: number): Promise<void> {
  while (clock.pending === 0) await new Promise(setImmediate);
  await clock.advance(ms);
}
