/** What happens in one simulated session, drawn from a seed: turns, what models and tools do in them, what people say, and what breaks. */
import { Random } from './random.ts';

/** What one call does when it runs. */
export interface CallPlan {
  readonly tool: 'plain' | 'keyed' | 'alone' | 'gated' | 'ghost';
  readonly id: 'own' | 'same' | 'empty';
  readonly text: 'good' | 'broken' | 'unfit';
  readonly does: 'returns' | 'throws' | 'hangs' | 'heeds' | 'deaf' | 'nothing' | 'ends' | 'large';
  readonly ms: number;
  readonly key: number;
  readonly write: boolean;
  /** What a person says to it, if asked, and after how long; `never` for nobody who answers. */
  readonly person: 'approve' | 'deny' | 'always' | 'edit' | 'never';
  readonly personMs: number;
}

/** One response of the model, and what is wrong with the request. */
export interface StepPlan {
  readonly calls: readonly CallPlan[];
  readonly trouble: 'none' | 'retried' | 'broken' | 'paused' | 'cut off' | 'unfit answer';
}

/** One input of the user. */
export interface TurnPlan {
  readonly steps: readonly StepPlan[];
  /** When somebody interrupts, steers or says something more, in milliseconds after its beginning. */
  readonly interruptMs: number | undefined;
  readonly steerMs: number | undefined;
  readonly queueMs: number | undefined;
  readonly turnTimeoutMs: number | undefined;
}

/** The end of one process: at the n-th of something, counted in its own life. */
export interface CrashPlan {
  readonly at: 'append' | 'effect' | 'request' | 'time';
  readonly nth: number;
  /** Of an append, whether it was written; of an effect, whether it took place. */
  readonly after: boolean;
  /** Not killed but frozen: it goes on later, when another process has taken the session over. */
  readonly thaws: boolean;
  /** Not killed but ended in order, at a time: it releases its session, with so much grace. */
  readonly releasesIn: number | undefined;
  /** What the next process does: take the turn up, or say something else. */
  readonly next: 'resume' | 'input';
}

/** A store that fails once in the life of a process. */
export interface FaultPlan {
  readonly nth: number;
  readonly after: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly turns: readonly TurnPlan[];
  /** One for each process but the last. */
  readonly crashes: readonly CrashPlan[];
  readonly faults: readonly (FaultPlan | undefined)[];
  readonly iterations: number;
  readonly calls: number;
  readonly parallel: number;
  readonly tokens: number | undefined;
  readonly atLimit: 'fail' | 'answer';
  readonly repeats: boolean;
  readonly output: boolean;
  readonly gate: 'allow' | 'deny' | 'ask';
  readonly gateTimeoutMs: number | undefined;
  readonly stream: boolean;
  /** Whether every tool may run again. */
  readonly idempotent: boolean;
  /** How long an append takes. */
  readonly storeMs: number;
  /** How long a process waits before it takes a turn up: people may answer gates before. */
  readonly restMs: number;
}

/** Draws a plan. A third of them hold nothing but crashes of idempotent tools: these must end as if nothing had happened. */
export function drawPlan(seed: number): Plan {
  const random = new Random(seed);
  const isCalm = random.chance(0.35);
  return {
    seed,
    turns: random.list(1, 2, () => drawTurn(random, isCalm)),
    crashes: random.list(isCalm ? 1 : 0, 3, () => drawCrash(random, isCalm)),
    faults: random.list(4, 4, () =>
      !isCalm && random.chance(0.15) ? { nth: random.int(1, 12), after: random.chance(0.5) } : undefined,
    ),
    iterations: random.pick([1, 2, 3, 5, 25]),
    calls: random.pick([2, 4, 8, 100]),
    parallel: random.int(1, 4),
    tokens: random.chance(0.1) ? random.int(20, 80) : undefined,
    atLimit: random.pick(['fail', 'answer']),
    repeats: random.chance(0.15),
    output: random.chance(0.2),
    gate: random.pick(['allow', 'deny', 'ask'], [2, 1, 4]),
    gateTimeoutMs: !isCalm && random.chance(0.2) ? random.int(10, 200) : undefined,
    stream: random.chance(0.5),
    idempotent: isCalm || random.chance(0.3),
    storeMs: random.pick([0, 1], [3, 1]),
    restMs: random.pick([0, 30, 100], [2, 1, 1]),
  };
}

/** Whether nothing but crashes happens, so that the end must be that of a run without them. */
export function isCalm({ turns, crashes, faults, gateTimeoutMs, idempotent }: Plan): boolean {
  if (!idempotent || gateTimeoutMs !== undefined || faults.some(fault => fault !== undefined)) return false;
  if (crashes.some(({ next }) => next !== 'resume')) return false;
  return turns.every(
    ({ steps, interruptMs, steerMs, queueMs, turnTimeoutMs }) =>
      [interruptMs, steerMs, queueMs, turnTimeoutMs].every(when => when === undefined) &&
      steps.every(({ calls }) =>
        calls.every(({ does, person }) => !['hangs', 'heeds', 'deaf'].includes(does) && person !== 'never'),
      ),
  );
}

function drawTurn(random: Random, calm: boolean): TurnPlan {
  const maybe = (probability: number, most: number): number | undefined =>
    !calm && random.chance(probability) ? random.int(0, most) : undefined;
  return {
    steps: random.list(0, 4, () => drawStep(random, calm)),
    interruptMs: maybe(0.15, 150),
    steerMs: maybe(0.2, 150),
    queueMs: maybe(0.2, 150),
    turnTimeoutMs: maybe(0.1, 200),
  };
}

function drawStep(random: Random, calm: boolean): StepPlan {
  return {
    calls: random.list(1, 5, () => drawCall(random, calm)),
    trouble: random.pick(
      ['none', 'retried', 'broken', 'paused', 'cut off', 'unfit answer'],
      [...[20, 1, calm ? 0 : 1, 1, 1, 1]],
    ),
  };
}

function drawCall(random: Random, calm: boolean): CallPlan {
  const odd = calm ? 0 : 1;
  return {
    tool: random.pick(['plain', 'keyed', 'alone', 'gated', 'ghost'], [6, 5, 1, 3, 1]),
    id: random.pick(['own', 'same', 'empty'], [10, 1, 1]),
    text: random.pick(['good', 'broken', 'unfit'], [14, 1, 1]),
    does: random.pick(
      ['returns', 'throws', 'nothing', 'large', 'hangs', 'heeds', 'deaf', 'ends'],
      [10, 2, 1, 1, odd, odd, odd, 0.5],
    ),
    ms: random.int(0, 60),
    key: random.int(0, 2),
    write: random.chance(0.7),
    person: random.pick(['approve', 'deny', 'always', 'edit', 'never'], [6, 2, 1, 1, odd]),
    personMs: random.int(0, 80),
  };
}

function drawCrash(random: Random, calm: boolean): CrashPlan {
  const at = random.pick<CrashPlan['at']>(['append', 'effect', 'request', 'time'], [6, 3, 1, 2]);
  const nth = at === 'time' ? random.int(0, 200) : random.int(1, at === 'append' ? 14 : 8);
  return {
    ...{ at, nth },
    after: random.chance(0.5),
    thaws: random.chance(0.15),
    releasesIn: at === 'time' && random.chance(0.6) ? random.pick([0, 30, 300]) : undefined,
    next: calm ? 'resume' : random.pick(['resume', 'input'], [3, 1]),
  };
}
