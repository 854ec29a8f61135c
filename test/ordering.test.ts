/** The order of a batch: resolved, allowed, announced, run, answered; what runs beside what; and what is recorded before. */
import {
  defineLoop,
  defineRig,
  defineTool,
  type GateOptions,
  type JournalRecord,
  type Resource,
  type ToolLimits,
  type TurnEvent,
} from 'looprig';
import {
  collect,
  manualClock,
  type ScriptedCall,
  type ScriptedReply,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { open, outcomes, play, resultsIn, saying } from './cases/setup.ts';
import { type WatchedStore, watchedStore } from './support/watched-store.ts';

const done: ScriptedReply = { text: 'done' };

/** When each call began and ended, by the clock. */
type Times = Readonly<Record<string, readonly [number, number]>>;

interface Planned {
  readonly tool?: string;
  readonly ms: number;
  readonly key?: unknown;
}

/** Runs one batch of calls named a, b, c… that take their time, and says when each ran and in which order they started. */
async function run(calls: Readonly<Record<string, Planned>>, limits: ToolLimits = {}) {
  const clock = manualClock();
  const times: Record<string, [number, number]> = {};
  const started: string[] = [];
  const execute = async ({ name, ms }: { name: string; ms: number }): Promise<string> => {
    started.push(name);
    times[name] = [clock.now(), Number.NaN];
    await new Promise<void>(resolve => clock.setTimer(resolve, ms));
    times[name][1] = clock.now();
    return `result ${name}`;
  };
  const input = {
    type: 'object',
    properties: { name: { type: 'string' }, ms: { type: 'number' }, key: {} },
    required: ['name', 'ms'],
  } as const;
  const resource = ({ key }: { key?: unknown }) => key as Resource | undefined;
  const tools = [
    defineTool({ name: 'plain', description: 'Runs.', input, resource, execute }),
    defineTool({ name: 'alone', description: 'Runs alone.', input, sequential: true, execute }),
  ];
  const batch = Object.entries(calls).map(
    ([name, { tool = 'plain', ms, key }]): ScriptedCall => ({ tool, id: name, input: { name, ms, key } }),
  );
  const opened = await open({ model: saying({ calls: batch }, done), tools, limits, clock });
  const { events, result } = await play(opened);
  expect(result).toMatchObject({ status: 'done' });
  expect(resultsIn(opened.session.history)).toEqual(Object.keys(calls).map(name => [name, `result ${name}`]));
  return { times: times as Times, started, events };
}

/** The ids of the calls that events of one type are about, in order. */
function idsOf(events: readonly TurnEvent[], type: 'tool.called' | 'tool.started' | 'tool.completed'): string[] {
  return events.flatMap(event => (event.type === type ? [event.callId] : []));
}

describe('the stages', () => {
  it('all calls are announced, in call order, before any of them runs, and answered in call order', async () => {
    const { events } = await run({ a: { ms: 30 }, b: { ms: 10 }, c: { ms: 20 } });
    expect(idsOf(events, 'tool.called')).toEqual(['a', 'b', 'c']);
    expect(idsOf(events, 'tool.started')).toEqual(['a', 'b', 'c']);
    expect(idsOf(events, 'tool.completed')).toEqual(['b', 'c', 'a']);
    const types = events.map(({ type }) => type);
    expect(types.lastIndexOf('tool.called')).toBeLessThan(types.indexOf('tool.started'));
  });

  it('a call that fails to resolve is announced too, in its place', async () => {
    const t = scriptedTool('t');
    const calls = [
      { tool: 'ghost', id: 'a' },
      { tool: 't', id: 'b' },
      { tool: 't', id: 'c', inputText: '[' },
    ];
    const { events } = await play(await open({ model: saying({ calls }, done), tools: [t] }));
    expect(idsOf(events, 'tool.called')).toEqual(['a', 'b', 'c']);
    expect(idsOf(events, 'tool.started')).toEqual(['b']);
    expect(idsOf(events, 'tool.completed').sort()).toEqual(['a', 'b', 'c']);
    expect(new Map(outcomes(events))).toEqual(
      new Map([
        ['a', 'refused'],
        ['b', 'done'],
        ['c', 'refused'],
      ]),
    );
  });

  it('every call is resolved, in call order, before permission is asked for any, and all are decided before any runs', async () => {
    const log: string[] = [];
    const t = scriptedTool('t', {
      access: ({ n }) => {
        log.push(`access ${n}`);
        return [{ action: 'act', target: `target ${n}` }];
      },
      resource: ({ n }) => {
        log.push(`resource ${n}`);
        return undefined;
      },
      summary: ({ n }) => `summary ${n}`,
      returns: ({ n }) => {
        log.push(`run ${n}`);
        return `result ${n}`;
      },
    });
    const calls = [1, 2, 3].map(n => ({ tool: 't', id: `c${n}`, input: { n } }));
    const gate: GateOptions = { ask: true };
    const opened = await open({ model: saying({ calls }, done), tools: [t], rig: { gate } });
    const turn = opened.session.submit('go');
    const gates: string[] = [];
    const reading = (async () => {
      for await (const event of turn) {
        if (event.type === 'gate.opened') {
          log.push(`ask ${event.callId.slice(1)} ${event.summary}`);
          gates.push(event.gateId);
        }
        if (event.type === 'tool.called') log.push(`called ${event.callId.slice(1)}`);
        if (gates.length === 3 && event.type === 'gate.opened') {
          for (const gateId of [...gates].reverse()) await opened.session.answer(gateId, { decision: 'approve' });
        }
      }
    })();
    await opened.clock.runUntil(turn.result);
    await reading;
    const stages = log.map(line => line.split(' ')[0]);
    expect(log.slice(0, 6)).toEqual(['resource 1', 'access 1', 'resource 2', 'access 2', 'resource 3', 'access 3']);
    expect(log.slice(6, 9)).toEqual(['ask 1 summary 1', 'ask 2 summary 2', 'ask 3 summary 3']);
    expect(stages.filter(stage => stage === 'called')).toHaveLength(3);
    expect(log.filter(line => line.startsWith('run'))).toEqual(['run 1', 'run 2', 'run 3']);
    const order = opened.events.map(({ type }) => type);
    expect(order.lastIndexOf('gate.resolved')).toBeLessThan(order.indexOf('tool.called'));
    expect(order.lastIndexOf('tool.called')).toBeLessThan(order.indexOf('tool.started'));
  });

  it('a denied call does not run, and the others of its batch do', async () => {
    const t = scriptedTool('t', { access: ({ n }) => [{ action: 'act', target: `target/${n}` }] });
    const calls = [1, 2, 3].map(n => ({ tool: 't', id: `c${n}`, input: { n } }));
    const gate: GateOptions = {
      rules: [
        { action: 'act', decision: 'allow' },
        { action: 'act', target: 'target/2', decision: 'deny' },
      ],
    };
    const opened = await open({ model: saying({ calls }, done), tools: [t], rig: { gate } });
    await play(opened);
    expect(t.runs.map(({ callId }) => callId)).toEqual(['c1', 'c3']);
    expect(resultsIn(opened.session.history)[1]).toEqual([
      'c2',
      expect.stringMatching(/^permission denied: .*target\/2/),
    ]);
  });

  it('one result for each call, in call order, whatever the order of finishing', async () => {
    const names = [...'abcdefghijklmnop'];
    const calls = Object.fromEntries(names.map((name, index) => [name, { ms: (index * 7) % 16 }]));
    const { events } = await run(calls, { parallel: 16 });
    expect(idsOf(events, 'tool.completed')).not.toEqual(names);
    expect([...idsOf(events, 'tool.completed')].sort()).toEqual(names);
  });
});

describe('width', () => {
  it.each([1, 2, 3, 8])('at most %i calls run at the same time, taken in call order', async parallel => {
    const names = [...'abcdefghij'];
    const { times, started } = await run(Object.fromEntries(names.map(name => [name, { ms: 10 }])), { parallel });
    expect(started).toEqual(names);
    for (const [index, name] of names.entries()) {
      const begin = Math.floor(index / parallel) * 10;
      expect(times[name]).toEqual([begin, begin + 10]);
    }
  });

  it('a slot that falls free is used in the same tick', async () => {
    const { times } = await run({ a: { ms: 10 }, b: { ms: 30 }, c: { ms: 5 }, d: { ms: 5 } }, { parallel: 2 });
    expect(times).toEqual({ a: [0, 10], b: [0, 30], c: [10, 15], d: [15, 20] });
  });

  it('a tool that is not async holds its slot no longer than it runs', async () => {
    const running: number[] = [];
    let now = 0;
    const sync = defineTool({
      ...{ name: 'sync', description: 'Runs at once.', input: { type: 'object' } },
      execute: () => {
        now += 1;
        running.push(now);
        now -= 1;
        return 'ok';
      },
    });
    const calls = Array.from({ length: 50 }, () => ({ tool: 'sync' }));
    const { result } = await play(
      await open({ model: saying({ calls }, done), tools: [sync], limits: { parallel: 1 } }),
    );
    expect(result).toMatchObject({ status: 'done', calls: 50 });
    expect(running).toEqual(Array(50).fill(1));
  });

  it('a call that fails or times out frees its slot', async () => {
    const clock = manualClock();
    const bad = scriptedTool('bad', { throws: new Error('no'), clock });
    const hang = scriptedTool('hang', { hangs: true, clock });
    const ok = scriptedTool('ok', { clock });
    const calls = ['bad', 'hang', 'ok'].map(tool => ({ tool }));
    const limits = { parallel: 1, callTimeoutMs: 50 };
    await play(await open({ model: saying({ calls }, done), tools: [bad, hang, ok], limits, clock }));
    expect([bad, hang, ok].map(({ runs }) => runs[0]?.startedAt)).toEqual([0, 0, 50]);
  });
});

describe('sequential calls', () => {
  it('wait for all before them, and all after wait for them', async () => {
    const { times } = await run({
      ...{ a: { ms: 20 }, b: { ms: 10 }, s: { tool: 'alone', ms: 5 } },
      ...{ c: { ms: 10 }, d: { ms: 10 } },
    });
    expect(times).toEqual({ a: [0, 20], b: [0, 10], s: [20, 25], c: [25, 35], d: [25, 35] });
  });

  it('run one after the other', async () => {
    const { times } = await run({
      ...{ r: { tool: 'alone', ms: 5 }, s: { tool: 'alone', ms: 5 } },
      ...{ a: { ms: 5 }, t: { tool: 'alone', ms: 5 } },
    });
    expect(times).toEqual({ r: [0, 5], s: [5, 10], a: [10, 15], t: [15, 20] });
  });

  it('a sequential call that was refused is no barrier', async () => {
    const clock = manualClock();
    const alone = scriptedTool('alone', { sequential: true, input: { type: 'object', required: ['x'] } });
    const t = scriptedTool('t', { sleepMs: 10, clock });
    const calls = [{ tool: 't', id: 'a' }, { tool: 'alone' }, { tool: 't', id: 'b' }];
    await play(await open({ model: saying({ calls }, done), tools: [alone, t], clock }));
    expect(t.overlapped('a', 'b')).toBe(true);
  });

  it('resources before a barrier hold nobody up after it', async () => {
    const { times } = await run({
      ...{ a: { ms: 10, key: 'k' }, s: { tool: 'alone', ms: 5 } },
      ...{ b: { ms: 10, key: 'k' }, c: { ms: 10, key: 'k' } },
    });
    expect(times).toEqual({ a: [0, 10], s: [10, 15], b: [15, 25], c: [25, 35] });
  });
});

describe('resources', () => {
  const read = (key: string) => ({ key, mode: 'read' });
  const write = (key: string) => ({ key, mode: 'write' });

  it('calls on one key keep call order, a bare key writes, and other keys are not held up', async () => {
    const { times } = await run({
      ...{ a: { ms: 20, key: 'k' }, b: { ms: 10, key: 'k' }, c: { ms: 5, key: 'other' }, d: { ms: 5 } },
      e: { ms: 5, key: write('k') },
    });
    expect(times).toEqual({ a: [0, 20], b: [20, 30], c: [0, 5], d: [0, 5], e: [30, 35] });
  });

  it('reads of one key overlap; a write waits for the reads before it, and reads for the write before them', async () => {
    const { times } = await run({
      ...{ a: { ms: 20, key: read('k') }, b: { ms: 10, key: read('k') } },
      ...{ w: { ms: 5, key: write('k') }, c: { ms: 5, key: read('k') }, d: { ms: 5, key: read('k') } },
    });
    expect(times).toEqual({ a: [0, 20], b: [0, 10], w: [20, 25], c: [25, 30], d: [25, 30] });
  });

  it('a call on several keys waits for each of them', async () => {
    const { times } = await run({
      ...{ a: { ms: 20, key: 'x' }, b: { ms: 30, key: 'y' } },
      ...{ c: { ms: 5, key: ['x', 'y'] }, d: { ms: 5, key: ['y', read('z')] }, e: { ms: 5, key: 'x' } },
    });
    expect(times).toEqual({ a: [0, 20], b: [0, 30], c: [30, 35], d: [35, 40], e: [35, 40] });
  });

  it('a call is announced with the calls that it waits for, and one that waits for none without', async () => {
    const { events } = await run({
      ...{ a: { ms: 20, key: 'x' }, b: { ms: 5 }, c: { ms: 5, key: 'x' }, d: { ms: 5, key: ['x', 'y'] } },
      ...{ e: { tool: 'alone', ms: 5 }, f: { ms: 5 } },
    });
    const waits = events.flatMap(event => (event.type === 'tool.called' ? [[event.callId, event.waitsFor]] : []));
    expect(Object.fromEntries(waits)).toEqual({
      ...{ a: undefined, b: undefined, c: ['a'], d: ['c'], e: ['a', 'b', 'c', 'd'], f: ['e'] },
    });
  });

  it('a call that names one key twice does not wait for itself', async () => {
    const { times } = await run({
      a: { ms: 5, key: ['k', 'k', read('k')] },
      b: { ms: 5, key: [read('k'), write('k')] },
    });
    expect(times).toEqual({ a: [0, 5], b: [5, 10] });
  });

  it('a waiting call holds no slot: others overtake it', async () => {
    const { times } = await run(
      { a: { ms: 50, key: 'k' }, b: { ms: 10, key: 'k' }, c: { ms: 10 }, d: { ms: 10 }, e: { ms: 10 } },
      { parallel: 2 },
    );
    expect(times).toEqual({ a: [0, 50], c: [0, 10], d: [10, 20], e: [20, 30], b: [50, 60] });
  });

  it('a call that becomes free starts before later ones that were free all along', async () => {
    const { started } = await run(
      { a: { ms: 10, key: 'k' }, b: { ms: 10, key: 'k' }, c: { ms: 30 }, d: { ms: 10 } },
      { parallel: 2 },
    );
    expect(started).toEqual(['a', 'c', 'b', 'd']);
  });

  it('keys named like members of a prototype are keys like any other', async () => {
    const { times } = await run({
      ...{ a: { ms: 10, key: '__proto__' }, b: { ms: 10, key: '__proto__' } },
      ...{ c: { ms: 10, key: 'constructor' }, d: { ms: 10, key: '' } },
    });
    expect(times).toEqual({ a: [0, 10], b: [10, 20], c: [0, 10], d: [0, 10] });
  });
});

describe('what is recorded', () => {
  /** A session on a store that counts, with a tool that looks at the store when it runs. */
  async function recorded(
    replies: readonly ScriptedReply[],
    options: { readonly slow?: boolean; readonly parallel?: number } = {},
  ) {
    const store = watchedStore(options);
    const atRun: { readonly callId: string; readonly written: readonly JournalRecord[] }[] = [];
    const t = scriptedTool('t', (_, call) => {
      atRun.push({ callId: call.callId, written: store.records });
      return 'ok';
    });
    const gated = scriptedTool('gated', {
      access: () => [{ action: 'act', target: 'x' }],
      returns: (_, call) => {
        atRun.push({ callId: call.callId, written: store.records });
        return 'ok';
      },
    });
    const model = scriptedModel([...replies]);
    const { parallel } = options;
    const loop = defineLoop({ name: 'l', model, tools: [t.definition, gated.definition], limits: { parallel } });
    const gate: GateOptions = { rules: [{ action: 'act', decision: 'allow' }] };
    const session = await defineRig({ loops: [loop], store, gate }).open();
    return { session, store, atRun };
  }

  const step = (n: number): ScriptedReply => ({ calls: [{ tool: 't', input: { n } }] });

  function types(store: WatchedStore): string[][] {
    return store.appends.map(records => records.map(({ type }) => type));
  }

  it('a step of one ungated call is exactly two appends', async () => {
    const { session, store } = await recorded([step(1), step(2), step(3), done]);
    await session.run('go');
    expect(types(store)).toEqual([
      ['session.opened'],
      ['turn.started', 'step.started'],
      ['step.responded', 'tool.called', 'tool.started'],
      ['tool.completed', 'step.done', 'step.started'],
      ['step.responded', 'tool.called', 'tool.started'],
      ['tool.completed', 'step.done', 'step.started'],
      ['step.responded', 'tool.called', 'tool.started'],
      ['tool.completed', 'step.done', 'step.started'],
      ['step.responded', 'step.done', 'turn.done'],
    ]);
  });

  it.each([false, true])(
    'a call runs only when its response, its announcement and its start are written (slow store: %s)',
    async slow => {
      const calls = Array.from({ length: 5 }, (_, n) => ({ tool: n % 2 === 0 ? 't' : 'gated', id: `c${n}` }));
      const { session, atRun } = await recorded([{ calls }, step(1), done], { slow, parallel: 2 });
      await session.run('go');
      expect(atRun.map(({ callId }) => callId)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'call-1-0']);
      for (const { callId, written } of atRun) {
        const of = (type: JournalRecord['type']) =>
          written.findIndex(record => record.type === type && 'callId' in record && record.callId === callId);
        const responded = written.findLastIndex(({ type }) => type === 'step.responded');
        expect(responded).toBeGreaterThan(-1);
        expect(JSON.stringify(written[responded])).toContain(`"${callId}"`);
        expect(of('tool.called')).toBeGreaterThan(responded);
        expect(of('tool.started')).toBeGreaterThan(of('tool.called'));
      }
    },
  );

  it('calls that start in one tick have their starts in one append', async () => {
    const calls = Array.from({ length: 5 }, () => ({ tool: 't' }));
    const { session, store } = await recorded([{ calls }, done]);
    await session.run('go');
    const starts = types(store).map(list => list.filter(type => type === 'tool.started').length);
    expect(starts.filter(count => count > 0)).toEqual([5]);
  });

  it('sequence numbers have no gaps and records are frozen', async () => {
    const { session, store } = await recorded([step(1), { calls: [{ tool: 't' }, { tool: 'ghost' }] }, done]);
    await session.run('go');
    await session.close();
    expect(store.records.map(({ seq }) => seq)).toEqual(store.records.map((_, index) => index + 1));
    for (const record of store.records) expect(Object.isFrozen(record)).toBe(true);
  });

  it('bytes per step do not grow with the number of steps, and nothing is written twice', async () => {
    const replies = Array.from(
      { length: 20 },
      (_, n): ScriptedReply => ({
        text: `text ${n}`,
        calls: [{ tool: 't', input: { marker: `marker-${String(n).padStart(2, '0')}` } }],
      }),
    );
    const { session, store } = await recorded([...replies, done]);
    await session.run('go');
    const sizes = store.appends
      .map(records => records.map(record => JSON.stringify(record)).join(''))
      .filter(text => text.includes('step.responded') && text.includes('marker'))
      .map(text => text.length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(40);
    const whole = JSON.stringify(store.records);
    for (let n = 0; n < 20; n++) expect(whole.split(`marker-${String(n).padStart(2, '0')}`)).toHaveLength(2);
  });

  it('the events of a turn have the sequence numbers of their records', async () => {
    const { session, store } = await recorded([step(1), done]);
    const { events } = await collect(session.submit('go'));
    const bySeq = new Map(store.records.map(record => [record.seq, record.type]));
    for (const event of events) {
      if (event.type === 'text.delta' || event.type === 'tool.input.delta') continue;
      expect(bySeq.get(event.seq)).toBe(event.type);
    }
  });
});
