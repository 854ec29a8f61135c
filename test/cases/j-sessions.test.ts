/** Cases of sessions: one turn at a time whoever asks for more, and ends that are told in words for users, across restarts too. */
import {
  isTerminal,
  memoryStore,
  type Session,
  SessionBusyError,
  type SessionEvent,
  type ToolMiddleware,
} from 'looprig';
import { collect, manualClock, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { leftBy, openOn, readingOn, recordsOf } from './restart.ts';
import { expectNextTurn, expectSound, type OpenedSession, open, reached, resultsIn, saying } from './setup.ts';

const done: ScriptedReply = { text: 'done' };
const answers = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, (_, index) => [
    { calls: [{ tool: 'slow', id: `c${index}`, input: { index } }] },
    { text: `answer ${index}` },
  ]).flat();

/** A session whose turns take a while: each makes one call and answers. */
function slowSession(turns: number) {
  const clock = manualClock();
  const slow = scriptedTool('slow', { sleepMs: 100, clock, returns: ({ index }) => `result ${index}` });
  return open({ model: saying(...answers(turns)), tools: [slow], clock });
}

/** What the user and the model said, in the order of the history. */
function said({ session }: OpenedSession): readonly string[] {
  return session.history.flatMap(({ role, content }) =>
    [...content].flatMap(part => (typeof part === 'object' && part.type === 'text' ? [`${role}: ${part.text}`] : [])),
  );
}

/** Between the beginning of a turn and its end there is nothing of another. */
function expectOneAtATime(events: readonly SessionEvent[]): void {
  let running: string | undefined;
  for (const event of events) {
    if (!('turnId' in event) || event.turnId === undefined) continue;
    if (event.type === 'turn.started') {
      expect(running).toBeUndefined();
      running = event.turnId;
    }
    expect(event.turnId).toBe(running);
    if (isTerminal(event)) running = undefined;
  }
  expect(running).toBeUndefined();
}

describe('two turns at once', () => {
  const starts: readonly (readonly [string, (session: Session, input: string) => Promise<unknown>])[] = [
    ['submit', (session, input) => session.submit(input).result],
    ['run', (session, input) => session.run(input)],
  ];

  it.each(starts.flatMap(one => starts.map(other => [one[0], other[0], one[1], other[1]] as const)))(
    'case 75: of %s and %s in one tick run one after the other, each with its own answer',
    async (_, __, one, other) => {
      const opened = await slowSession(3);
      const { session, clock } = opened;
      const results = await clock.runUntil(
        Promise.all([one(session, 'first'), other(session, 'second'), one(session, 'third')]),
      );
      expect(results).toMatchObject([0, 1, 2].map(index => ({ status: 'done', text: `answer ${index}`, calls: 1 })));
      expect(said(opened)).toEqual([
        ...['user: first', 'assistant: answer 0', 'user: second', 'assistant: answer 1'],
        ...['user: third', 'assistant: answer 2'],
      ]);
      expect(resultsIn(session.history)).toEqual([0, 1, 2].map(index => [`c${index}`, `result ${index}`]));
      expectOneAtATime(opened.events);
      await expectNextTurn(opened);
    },
  );

  it.each([0, 1, 50, 100])(
    'case 75: a retry of a client that comes %i ms later waits, or is refused with a typed error and changes nothing',
    async ms => {
      for (const queue of ['queue', 'reject'] as const) {
        const opened = await slowSession(2);
        const { session, clock } = opened;
        const first = session.submit('first');
        await clock.advance(ms);
        const isOver = !session.isRunning;
        if (queue === 'reject' && !isOver) {
          expect(() => session.submit('again', { queue })).toThrow(SessionBusyError);
          await expect(session.run('again', { queue })).rejects.toMatchObject({ kind: 'busy' });
          await clock.runUntil(first.result);
          expect(said(opened)).toEqual(['user: first', 'assistant: answer 0']);
        } else {
          const again = session.submit('again', { queue });
          expect(await clock.runUntil(again.result)).toMatchObject({ status: 'done', text: 'answer 1' });
          expect(await first.result).toMatchObject({ status: 'done', text: 'answer 0' });
        }
        expectOneAtATime(opened.events);
        await expectNextTurn(opened);
      }
    },
  );

  it('case 75: nothing that takes up a turn begins one beside the turn that runs', async () => {
    const opened = await slowSession(1);
    const { session, clock } = opened;
    const turn = session.submit('first');
    await reached(turn, 'tool.started');
    expect(() => session.continue()).toThrow(SessionBusyError);
    expect(() => session.resume()).toThrow(SessionBusyError);
    expect(() => session.continue()).toThrow(
      /nothing to continue before its end: wait for the result of session\.turn/,
    );
    expect(() => session.resume()).toThrow(/nothing to resume while it does: session\.turn is that turn/);
    expect(() => session.submit('x', { queue: 'reject' })).toThrow(/or submit with queue: "queue"$/);
    expect(session.unfinished).toBeUndefined();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expectOneAtATime(opened.events);
    await expectNextTurn(opened);
  });

  it('case 75: nor beside a turn that was taken up after a restart', async () => {
    const setUp = () => {
      const clock = manualClock();
      const slow = scriptedTool('slow', { sleepMs: 100, clock, returns: ({ index }) => `result ${index}` });
      return { model: readingOn(...answers(3)), tools: [slow], clock };
    };
    const store = memoryStore();
    const before = await openOn(store, setUp());
    const lost = before.session.submit('first');
    before.session.submit('second');
    await before.clock.advance(50);
    const { id } = before.session;
    const left = await leftBy(store, id);
    lost.interrupt();
    const opened = await openOn(left, setUp(), id);
    const { session, clock } = opened;
    const turn = session.resume();
    expect(turn.id).toBe(lost.id);
    expect(() => session.resume()).toThrow(SessionBusyError);
    expect(() => session.continue()).toThrow(SessionBusyError);
    expect(() => session.submit('x', { queue: 'reject' })).toThrow(SessionBusyError);
    const third = session.submit('third');
    expect(await clock.runUntil(third.result)).toMatchObject({ status: 'done', text: 'answer 2' });
    expect(said(opened)).toEqual([
      ...['user: first', 'assistant: answer 0', 'user: second', 'assistant: answer 1'],
      ...['user: third', 'assistant: answer 2'],
    ]);
    const turns = (await recordsOf(left, id)).flatMap(record =>
      record.type.startsWith('turn.') && 'turnId' in record ? [record.type] : [],
    );
    expect(turns).toEqual([
      ...['turn.started', 'turn.resumed', 'turn.done'],
      ...['turn.started', 'turn.done', 'turn.started', 'turn.done'],
    ]);
    await expectNextTurn({ ...opened, events: [] });
  });
});

describe('the end of a turn whose process ended', () => {
  /** What a user should never be shown: words of the inside, stacks, and platform errors. */
  const internal = /internal|undefined|\[object|\bat .+:\d+:\d+|AbortError|DOMException|execution error|JournalError/i;

  it.each([
    ['another input', (session: Session) => session.submit('something else')],
    ['continue', (session: Session) => session.continue()],
  ])('case 78: by %s is told as an interrupt, in words for users', async (_, next) => {
    const setUp = () => {
      const clock = manualClock();
      return { model: readingOn(...answers(1), done), tools: [scriptedTool('slow', { sleepMs: 100, clock })], clock };
    };
    const store = memoryStore();
    const first = await openOn(store, setUp());
    const lost = first.session.submit('first');
    await first.clock.advance(50);
    const opened = await openOn(await leftBy(store, first.session.id), setUp(), first.session.id);
    expect(await opened.clock.runUntil(next(opened.session).result)).toMatchObject({ status: 'done' });
    const [end] = opened.events.filter(isTerminal);
    expect(end).toMatchObject({
      ...{ type: 'turn.interrupted', turnId: lost.id, reason: 'the process ended during the turn' },
    });
    const told = opened.events.filter(event => event.type === 'tool.completed' || isTerminal(event));
    expect(JSON.stringify([told, opened.session.history])).not.toMatch(internal);
    await expectNextTurn({ ...opened, events: [] });
  });

  it('case 78: a turn that is resumed ends as what it is, a limit as a limit and an interrupt as an interrupt', async () => {
    for (const how of ['done', 'failed', 'interrupted'] as const) {
      const setUp = () => {
        const clock = manualClock();
        const model = readingOn(...answers(2));
        const slow = scriptedTool('slow', { sleepMs: 100, clock, idempotent: true });
        return { model, tools: [slow], clock, limits: { iterations: 1 } };
      };
      const twice = (reply: ScriptedReply): ScriptedReply[] => [reply, reply];
      const model = () => (how === 'failed' ? readingOn(...twice(answers(1)[0]!)) : readingOn(...answers(1)));
      const store = memoryStore();
      const first = await openOn(store, { ...setUp(), model: model() });
      first.session.submit('first');
      await first.clock.advance(50);
      const opened = await openOn(
        await leftBy(store, first.session.id),
        { ...setUp(), model: model() },
        first.session.id,
      );
      const turn = opened.session.resume();
      if (how === 'interrupted') {
        await opened.clock.advance(10);
        turn.interrupt('enough');
      }
      const { result, events } = await opened.clock.runUntil(collect(turn));
      expect(result).toMatchObject(
        {
          done: { status: 'done', text: 'answer 0' },
          failed: { status: 'failed', error: { kind: 'tool_limit', limit: 'iterations' } },
          interrupted: { status: 'interrupted', reason: 'enough' },
        }[how],
      );
      expectSound({ ...opened, events });
      await expectNextTurn({ ...opened, events: [] });
    }
  });
});

describe('a wrapper round each call, after a restart', () => {
  it('case 80: goes round the call that runs, and not round one whose result is known', async () => {
    const log: string[] = [];
    const layer =
      (name: string): ToolMiddleware =>
      async (call, next) => {
        log.push(`${name} ${call.callId} in`);
        const result = await next();
        log.push(`${name} ${call.callId} out`);
        return result;
      };
    const setUp = () => {
      const clock = manualClock();
      const calls = [
        { tool: 'fast', id: 'c1' },
        { tool: 'slow', id: 'c2' },
      ];
      const slow = scriptedTool('slow', { sleepMs: 100, clock, idempotent: true });
      const tools = [scriptedTool('fast'), slow];
      return { model: readingOn({ calls }, done), tools, clock, middlewares: [layer('A'), layer('B')] };
    };
    const store = memoryStore();
    const first = await openOn(store, setUp());
    first.session.submit('go');
    await first.clock.advance(50);
    const left = await leftBy(store, first.session.id);
    log.length = 0;
    const opened = await openOn(left, setUp(), first.session.id);
    const { result, events } = await opened.clock.runUntil(collect(opened.session.resume()));
    expect(result).toMatchObject({ status: 'done', calls: 2, iterations: 1 });
    expect(log).toEqual(['A c2 in', 'B c2 in', 'B c2 out', 'A c2 out']);
    expectSound({ ...opened, events });
  });
});
