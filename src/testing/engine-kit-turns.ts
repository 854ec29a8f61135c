/** The tests of what an engine does where nobody is lost: starting, order, cancelling, sizes. */
import { allRight, type EngineCheck, freshKey, require, resultOf, runsOf, same } from './engine-kit-checks.ts';
import { recordsOf } from './engine-kit-lab.ts';
import { KIT_RESULT_BYTES, textOfLength } from './engine-kit-loop.ts';

/** A tick of a tool: long enough that calls that run at once overlap. */
const TICK_MS = 30;

export const TURN_CHECKS: readonly EngineCheck[] = [
  [
    'a turn that is started several times runs once',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const key = freshKey('once');
      const sessionId = await bench.begin();
      const input = JSON.stringify({ batches: [[{ tool: 'note', key, ms: TICK_MS }]] });
      const submit = () => bench.lab.host.submit(sessionId, input, { idempotencyKey: key });
      const accepted = await Promise.all([submit(), submit(), submit()]);
      accepted.push(await submit());
      same(new Set(accepted.map(({ turnId }) => turnId)).size, 1, 'the number of turns of one key');
      same(accepted.filter(({ isNew }) => isNew).length, 1, 'the number of requests that began a turn');
      const turn = { sessionId, turnId: accepted[0]?.turnId ?? '' };
      await allRight(bench, [turn]);
      same((await submit()).isNew, false, 'whether a turn that has ended is begun again');
      same(runsOf(bench, key), 1, 'how often its call ran');
      same(recordsOf(await bench.records(sessionId), 'turn.started').length, 1, 'the number of turns in the journal');
    },
  ],
  [
    'turns of one session run one at a time, in the order in which they came',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const sessionId = await bench.begin();
      const keys = Array.from({ length: 6 }, () => freshKey('order'));
      const turns = [];
      for (const key of keys)
        turns.push(await bench.submit(sessionId, { batches: [[{ tool: 'note', key, ms: TICK_MS }]] }));
      await allRight(bench, turns);
      const done = bench.ledger(sessionId).map(({ what, key }) => `${what} ${key}`);
      same(
        done,
        keys.flatMap(key => [`begin ${key}`, `end ${key}`]),
        'what the turns did',
      );
    },
  ],
  [
    'turns of different sessions run at once',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const key = freshKey('meet');
      const count = 6;
      const plan = { batches: [[{ tool: 'meet' as const, key, count }]] };
      await allRight(bench, await Promise.all(Array.from({ length: count }, () => bench.start(plan))));
    },
  ],
  [
    'a turn that is cancelled in a tool ends, and the next one runs after it',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const [held, next] = [freshKey('held'), freshKey('next')];
      const turn = await bench.start({ batches: [[{ tool: 'hold', key: held }]] });
      const following = await bench.submit(turn.sessionId, { batches: [[{ tool: 'note', key: next }]] });
      await bench.begun(held);
      same(await bench.lab.host.interrupt(turn.sessionId, { turnId: turn.turnId }), true, 'whether it was interrupted');
      same((await bench.ended(turn)).type, 'turn.interrupted', 'the end of the turn');
      const records = await bench.done(following);
      same(resultOf(bench, records, held).outcome, 'interrupted', 'the outcome of the call');
      const places = ['turn.interrupted', 'turn.done'].map(type => records.findIndex(record => record.type === type));
      require((places[0] ?? 0) < (places[1] ?? 0), 'the next turn must end after the one that was cancelled');
      require(runsOf(bench, next) === 1, 'the call of the next turn must run');
    },
  ],
  [
    'a turn that is cancelled while it waits for a person ends, and the next one runs',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const [asked, next] = [freshKey('asked'), freshKey('next')];
      const turn = await bench.start({ batches: [[{ tool: 'ask', key: asked }]] });
      await bench.recorded(turn.sessionId, 'gate.opened');
      same(await bench.lab.host.interrupt(turn.sessionId, { turnId: turn.turnId }), true, 'whether it was interrupted');
      same((await bench.ended(turn)).type, 'turn.interrupted', 'the end of the turn');
      await bench.done(await bench.submit(turn.sessionId, { batches: [[{ tool: 'note', key: next }]] }));
      same([runsOf(bench, asked), runsOf(bench, next)], [0, 1], 'how often the calls ran');
    },
  ],
  [
    'a turn that waits goes on when it is answered, and its call runs once',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const [approved, denied] = [freshKey('approved'), freshKey('denied')];
      const turn = await bench.start({ batches: [[{ tool: 'ask', key: approved }]] });
      await bench.answer(turn, { decision: 'approve' });
      const other = await bench.start({ batches: [[{ tool: 'ask', key: denied }]] });
      await bench.answer(other, { decision: 'deny' });
      await allRight(bench, [turn, other]);
      same([runsOf(bench, approved), runsOf(bench, denied)], [1, 0], 'how often the calls ran');
    },
  ],
  [
    'results of a mebibyte come whole, and longer ones are kept whole beside the journal',
    async (bench, { workers }) => {
      await bench.haveWorkers(workers);
      const [whole, cut] = [freshKey('whole'), freshKey('cut')];
      const [fits, over] = [1 << 20, KIT_RESULT_BYTES * 2];
      const turn = await bench.start({
        batches: [[{ tool: 'note', key: whole, bytes: fits }], [{ tool: 'note', key: cut, bytes: over }]],
      });
      const records = await bench.done(turn);
      const { output } = resultOf(bench, records, whole);
      require(output.type === 'text' &&
        output.value === textOfLength(whole, fits), 'a result of 1 MiB must come whole');
      const { capture } = resultOf(bench, records, cut);
      const kept = await bench.lab.host.capture(turn.sessionId, capture?.id ?? '');
      require(new TextDecoder().decode(kept) === textOfLength(cut, over), 'a result over the limit must be kept whole');
    },
  ],
];
