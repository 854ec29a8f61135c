/** The tests of an engine that take minutes, and what it does in a second. */
import { systemClock } from '../clock.ts';
import { allRight, type EngineCheck, forEach, freshKey, type KitSetting, runsOf, same } from './engine-kit-checks.ts';
import { type KitBench, recordsOf } from './engine-kit-lab.ts';
import { pause } from './pause.ts';

const RANDOM_KILLS_MS = 30_000;
/** Between two kills: at least so long, at most three times. */
const BETWEEN_KILLS_MS = 1_000;

export const SOAK_CHECKS: readonly EngineCheck[] = [
  [
    '40 sessions of 100 steps are all right though workers are killed at random for 30 seconds',
    async (bench, setting) => {
      await bench.haveWorkers(setting.workers);
      const sessions = Array.from({ length: 40 }, () => freshKey('random'));
      const plan = (key: string) => ({ batches: [[{ tool: 'note' as const, key, ms: 150 }]], times: 100 });
      const turns = await forEach(sessions, 20, key => bench.start(plan(key)));
      const until = Date.now() + RANDOM_KILLS_MS;
      let kills = 0;
      while (Date.now() < until) {
        await pause(BETWEEN_KILLS_MS * (1 + 2 * Math.random()), systemClock, undefined);
        const { workers } = bench;
        await bench.kill(workers[Math.floor(Math.random() * workers.length)]?.pid ?? 0);
        await bench.haveWorkers(setting.workers);
        kills += 1;
      }
      await allRight(bench, turns);
      const records = await forEach(turns, 10, ({ sessionId }) => bench.records(sessionId));
      const results = records.flatMap(journal => recordsOf(journal, 'tool.completed'));
      const unknown = results.filter(({ outcome }) => outcome === 'interrupted').length;
      const resumed = records.flatMap(journal => recordsOf(journal, 'turn.resumed')).length;
      const runs = Map.groupBy(
        bench.ledger().filter(({ what }) => what === 'begin'),
        ({ callId, sessionId }) => `${sessionId} ${callId}`,
      );
      const twice = records.flatMap((journal, index) =>
        recordsOf(journal, 'tool.completed').filter(
          ({ callId, outcome }) => outcome === 'done' && runs.get(`${turns[index]?.sessionId} ${callId}`)?.length !== 1,
        ),
      );
      same(results.length, 4_000, 'the number of results');
      setting.tell({ name: 'random kills: workers killed', value: kills, unit: '' });
      setting.tell({ name: 'random kills: turns taken up again', value: resumed, unit: '' });
      setting.tell({ name: 'random kills: calls whose outcome is unknown, of 4,000', value: unknown, unit: '' });
      setting.tell({
        name: 'random kills: completed calls that did not run exactly once',
        value: twice.length,
        unit: '',
      });
    },
  ],
  ['what is done in a second is measured, with one worker and with all', measureSteps],
];

/** Sessions that wait for a person, all processes lost, and all answered. */
export function manyWaiting(count: number): EngineCheck {
  return [
    `${count.toLocaleString('en')} sessions wait for approval, every process is started anew, and all are approved`,
    async (bench, setting) => {
      await bench.haveWorkers(1);
      const before = await memoryOf(bench);
      const sessions = Array.from({ length: count }, () => freshKey('waits'));
      const turns = await forEach(sessions, 20, key => bench.start({ batches: [[{ tool: 'ask', key }]] }));
      for (const { sessionId } of turns) await bench.recorded(sessionId, 'gate.opened');
      await pause(2_000, systemClock, undefined); // what holds a turn that has just begun to wait is let go
      const perSession = ((await memoryOf(bench)) - before) / count;
      setting.tell({ name: 'memory of a worker per waiting session', value: Math.round(perSession), unit: 'bytes' });
      await bench.killAll();
      for (const server of bench.lab.servers ?? []) await server.kill();
      for (const server of bench.lab.servers ?? []) await server.restart();
      await bench.haveWorkers(setting.workers);
      const began = performance.now();
      await forEach(turns, 20, turn => bench.answer(turn, { decision: 'approve' }));
      await allRight(bench, turns);
      const seconds = (performance.now() - began) / 1_000;
      setting.tell({ name: `approving ${count} waiting sessions, to the last end`, value: round(seconds), unit: 's' });
      const ran = sessions.map(key => runsOf(bench, key)).filter(runs => runs !== 1).length;
      same(ran, 0, 'the number of calls that did not run exactly once');
    },
  ];
}

async function measureSteps(bench: KitBench, setting: KitSetting): Promise<void> {
  for (const workers of new Set([1, setting.workers])) {
    await bench.haveWorkers(workers);
    const [sessions, steps] = [20, 100];
    const play = async (times: number): Promise<void> => {
      const keys = Array.from({ length: sessions }, () => freshKey('steps'));
      const plan = (key: string) => ({ batches: [[{ tool: 'note' as const, key }]], times });
      await allRight(bench, await forEach(keys, sessions, key => bench.start(plan(key))));
    };
    await play(10); // what a process does for the first time is slow
    const began = performance.now();
    await play(steps);
    const seconds = (performance.now() - began) / 1_000;
    const name = `steps a second, ${workers} worker${workers === 1 ? '' : 's'}, ${sessions} sessions at once`;
    setting.tell({ name, value: Math.round((sessions * (steps + 1)) / seconds), unit: 'steps/s' });
  }
}

/** What the only worker holds, in bytes. */
async function memoryOf(bench: KitBench): Promise<number> {
  const key = freshKey('memory');
  const records = await bench.done(await bench.start({ batches: [[{ tool: 'memory', key }]] }));
  const [result] = recordsOf(records, 'tool.completed');
  return result?.output.type === 'json' ? Number(result.output.value) : Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
