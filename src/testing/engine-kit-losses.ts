/** The tests of what an engine does where somebody is lost: workers that are killed or stand still, servers that are gone for a while. */
import { systemClock } from '../clock.ts';
import {
  allRight,
  type EngineCheck,
  forEach,
  freshKey,
  type KitSetting,
  require,
  resultOf,
  runsOf,
  same,
} from './engine-kit-checks.ts';
import type { KitBench, KitTurn } from './engine-kit-lab.ts';
import type { KitPlan } from './engine-kit-loop.ts';
import { pause } from './pause.ts';

/** How long a server of a test stays away. */
const AWAY_MS = 1_000;

export const LOSS_CHECKS: readonly EngineCheck[] = [
  [
    'a turn whose worker is killed in a batch goes on elsewhere: what is recorded is used, and what may have happened is said',
    async (bench, setting) => {
      await bench.haveWorkers(setting.workers);
      const [first, second, held, again] = ['first', 'second', 'held', 'again'].map(freshKey) as [
        string,
        string,
        string,
        string,
      ];
      const turn = await bench.start({
        batches: [
          [
            { tool: 'note', key: first },
            { tool: 'hold', key: held },
            { tool: 'note', key: second },
            { tool: 'again', key: again },
          ],
        ],
      });
      const { pid } = await bench.begun(held);
      await bench.begun(again);
      await bench.recorded(turn.sessionId, 'tool.completed', ({ callId }) => callId === callOf(bench, second));
      const tookMs = await loseWorker(bench, setting, pid, turn);
      setting.tell({ name: 'fail-over of a turn in a batch', value: tookMs, unit: 'ms' });
      await bench.begun(again, 2);
      bench.letGo(again);
      const records = await bench.done(turn);
      const outcomes = [first, second, held, again].map(key => resultOf(bench, records, key).outcome);
      same(outcomes, ['done', 'done', 'interrupted', 'done'], 'the outcomes of the calls');
      same(
        [first, second, held, again].map(key => runsOf(bench, key)),
        [1, 1, 1, 2],
        'how often the calls ran',
      );
    },
  ],
  [
    'a worker that is told to end hands its turns over: calls that end in time are recorded, and nothing is unknown',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const [slow, next] = [freshKey('slow'), freshKey('next')];
      const turn = await bench.start({
        batches: [[{ tool: 'note', key: slow, ms: 1_500 }], [{ tool: 'note', key: next, ms: 100 }]],
      });
      const { pid } = await bench.begun(slow);
      const ended = bench.end(pid);
      if (workers === 1) await ended; // one process at a time
      await bench.haveWorkers(1);
      const records = await bench.done(turn);
      await ended;
      const outcomes = [slow, next].map(key => resultOf(bench, records, key).outcome);
      same(outcomes, ['done', 'done'], 'the outcomes of the calls');
      same([runsOf(bench, slow), runsOf(bench, next)], [1, 1], 'how often the calls ran');
    },
  ],
  [
    'a question that was asked by a worker that is gone is answered, and its call runs once',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const key = freshKey('asked');
      const turn = await bench.start({ batches: [[{ tool: 'ask', key }]] });
      await bench.recorded(turn.sessionId, 'gate.opened');
      await bench.killAll();
      const answered = bench.answer(turn, { decision: 'approve' });
      await bench.haveWorkers(workers);
      await answered;
      await allRight(bench, [turn]);
      same(runsOf(bench, key), 1, 'how often the call ran');
    },
  ],
  [
    'a turn that waits outlives every process, servers included',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const key = freshKey('asked');
      const turn = await bench.start({ batches: [[{ tool: 'ask', key }]] });
      await bench.recorded(turn.sessionId, 'gate.opened');
      const servers = bench.lab.servers ?? [];
      await bench.killAll();
      for (const server of servers) await server.kill();
      for (const server of servers) await server.restart();
      await bench.haveWorkers(workers);
      await bench.answer(turn, { decision: 'approve' });
      await allRight(bench, [turn]);
      same(runsOf(bench, key), 1, 'how often the call ran');
    },
  ],
  [
    'a worker that stands still while another takes its turn cannot write any more, and lives on',
    async (bench, setting) => {
      await bench.haveWorkers(setting.workers);
      const [held, next] = [freshKey('held'), freshKey('next')];
      const turn = await bench.start({ batches: [[{ tool: 'hold', key: held }]] });
      const { pid, callId } = await bench.begun(held);
      process.kill(pid, 'SIGSTOP');
      try {
        await bench.haveWorkers(Math.max(2, setting.workers));
        await bench.done(turn);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      const { length } = await bench.records(turn.sessionId);
      bench.letGo(held);
      await bench.settled(callId, pid);
      await bench.done(await bench.submit(turn.sessionId, { batches: [[{ tool: 'note', key: next }]] }));
      const records = await bench.records(turn.sessionId);
      same(resultOf(bench, records, held).outcome, 'interrupted', 'the outcome of the call that was under way');
      const late = records.slice(length).find(record => 'turnId' in record && record.turnId === turn.turnId);
      same(late, undefined, 'what was recorded of the turn after its end');
      require(bench.isAlive(pid), 'the worker that stood still must live');
      await bench.haveWorkers(setting.workers);
    },
  ],
  [
    'each server can be lost in the middle of a batch: turns end when it is back, and no call ran unrecorded or twice',
    async (bench, { workers }) => {
      for (const server of bench.lab.servers ?? []) {
        await bench.haveWorkers(workers);
        const plan = (): { readonly held: string; readonly plan: KitPlan } => {
          const held = freshKey('held');
          return {
            held,
            plan: {
              batches: [
                [
                  { tool: 'note', key: freshKey('note') },
                  { tool: 'hold', key: held },
                ],
              ],
            },
          };
        };
        const plans = [plan(), plan(), plan()];
        const turns = await Promise.all(plans.map(one => bench.start(one.plan)));
        for (const { held } of plans) await bench.begun(held);
        await server.kill();
        await pause(AWAY_MS, systemClock, undefined);
        for (const { held } of plans) bench.letGo(held);
        await pause(AWAY_MS, systemClock, undefined);
        await server.restart();
        for (const turn of turns) await bench.ended(turn);
        const next = await Promise.all(
          turns.map(({ sessionId }) =>
            bench.submit(sessionId, { batches: [[{ tool: 'note', key: freshKey('next') }]] }),
          ),
        );
        await allRight(bench, next);
      }
    },
  ],
];

/** Many sessions, and a worker killed among them. */
export function manySessions(count: number): EngineCheck {
  return [
    `${count} sessions are all right, a worker killed among them`,
    async (bench, setting) => {
      await bench.haveWorkers(setting.workers);
      const sessions = Array.from({ length: count }, () => freshKey('many'));
      const turns = await forEach(sessions, 20, key =>
        bench.start({
          batches: [
            [
              { tool: 'note', key, ms: 20 },
              { tool: 'note', key },
            ],
          ],
          times: 4,
        }),
      );
      const pid = await bench.someWorkerAtWork();
      await bench.kill(pid);
      await bench.haveWorkers(setting.workers);
      await allRight(bench, turns);
    },
  ];
}

/** Kills the worker of a turn, and gives the milliseconds until the turn went on elsewhere. */
async function loseWorker(bench: KitBench, setting: KitSetting, pid: number, { sessionId }: KitTurn): Promise<number> {
  const lost = performance.now();
  await bench.kill(pid);
  await bench.haveWorkers(1);
  await bench.recorded(sessionId, 'turn.resumed');
  const tookMs = Math.round(performance.now() - lost);
  require(tookMs <=
    setting.failOverMs, `a turn must go on within ${setting.failOverMs} ms after the loss of its worker, not ${tookMs} ms`);
  return tookMs;
}

function callOf(bench: KitBench, key: string): string | undefined {
  return bench.ledger().find(line => line.key === key)?.callId;
}
