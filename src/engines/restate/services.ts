/**
 * What Restate keeps of a turn: that it was started, whether it runs or waits, and how it is reached. Nothing of what happens in it: that is the
 * journal's. Only references go through it, so that no message is large.
 *
 * A turn is one call of the session's virtual object: Restate runs those one after another, in the order of their start. Each run of the turn is a
 * call of its own, because the two want opposite things of a connection on which nothing is said: while a turn runs it must stay, so that a cancel
 * comes through; while a turn waits it is to go, and with it all that the worker holds.
 *
 * The steps of a handler are recorded, and played again by later versions: what it awaits, and in which order, must not change. Services that
 * work differently need other names.
 */
import type {
  Context,
  InvocationId,
  ObjectContext,
  ObjectSharedContext,
  ServiceDefinition,
} from '@restatedev/restate-sdk';
import type { RunOutcome, RunTurn, TurnRef } from '../engine.ts';
import type { ServerSdk } from './packages.ts';

/** What a session's object says of the turn that runs or waits. */
interface Standing {
  readonly turnId: string;
  /** How often it has run before. Signals of one name overwrite each other, so that each wait has a name of its own. */
  readonly round: number;
  /** The call of the turn. */
  readonly turn: InvocationId;
}

/** What is kept of the outcome of a run. */
interface Kept {
  readonly status: RunOutcome['status'];
  readonly until?: number;
}

function kept(outcome: RunOutcome): Kept {
  const { status } = outcome;
  return status === 'waiting' && outcome.until !== undefined ? { status, until: outcome.until } : { status };
}

const DAY = { days: 1 } as const;
/** A worker that is gone is soon replaced by another; and a run fails only where a store cannot be reached, which is never given up. */
const RETRIES = { initialInterval: 50, exponentiationFactor: 2, maxInterval: 2_000, maxAttempts: 2 ** 31 - 1 };
/** How long a turn that waits keeps its connection, in milliseconds. */
const LINGER_MS = 500;

/** The name of the virtual object that stands for a session. */
export function sessionService(namespace: string): string {
  return `${namespace}-session`;
}

/** The services of a worker that runs turns by `run`. */
export function turnServices(sdk: ServerSdk, namespace: string, run: RunTurn): ServiceDefinition<string, unknown>[] {
  const { RestatePromise, handlers, object, service } = sdk;

  const runs = service({
    name: `${namespace}-run`,
    // Without a word for `inactivityTimeout` a connection is to end, and after `abortTimeout` more it is cut off, and the run repeated.
    options: {
      inactivityTimeout: DAY,
      abortTimeout: DAY,
      journalRetention: 0,
      ingressPrivate: true,
      retryPolicy: RETRIES,
    },
    handlers: {
      async run(context: Context, ref: TurnRef): Promise<Kept> {
        const [cancelled, lost] = [new AbortController(), new AbortController()];
        context.request().attemptCompletedSignal.addEventListener('abort', () => lost.abort());
        const signals = { cancelled: cancelled.signal, lost: lost.signal };
        const running = context.run('run', async () => kept(await run(ref, signals)));
        const isCancelled = await RestatePromise.race([
          running.map(() => false),
          context.signal('cancel').map(() => true),
        ]);
        if (isCancelled) cancelled.abort();
        return running;
      },
    },
  });

  async function turn(context: ObjectContext, ref: TurnRef): Promise<void> {
    for (let round = 0; ; round++) {
      // Before the run is called: whoever wakes an earlier round did so for something that this run will find.
      context.set<Standing>('standing', { turnId: ref.turnId, round, turn: context.request().id });
      const call = context.serviceClient(runs).run(ref);
      const running = await call.invocationId;
      // Told by way of this call, which stands before the run begins: the run's own id is known only when it may have begun.
      const isCancelled = await RestatePromise.race([
        call.map(() => false),
        context.signal<void>(`cancel-${round}`).map(() => true),
      ]);
      if (isCancelled) context.invocation(running).signal('cancel').resolve();
      const outcome = await call;
      if (outcome.status === 'done') break;
      if (outcome.status === 'released') continue;
      const woken = context.signal<void>(`wake-${round}`);
      if (outcome.until === undefined) await woken;
      else await RestatePromise.race([woken, context.sleep(outcome.until - (await context.date.now()))]);
    }
    context.clear('standing');
  }

  /** What happened to the turn stands in the journal and in its mails: it only has to run, or to stop. A turn that has not begun will find it there. */
  const reach = (how: 'wake' | 'cancel') =>
    handlers.object.shared(async (context: ObjectSharedContext, { turnId }: TurnRef): Promise<void> => {
      const standing = await context.get<Standing>('standing');
      if (standing?.turnId !== turnId) return;
      const turn = context.invocation(standing.turn);
      if (how === 'cancel') turn.signal(`cancel-${standing.round}`).resolve();
      turn.signal(`wake-${standing.round}`).resolve();
    });

  const sessions = object({
    name: sessionService(namespace),
    options: { inactivityTimeout: LINGER_MS, abortTimeout: DAY, journalRetention: 0, retryPolicy: RETRIES },
    handlers: { turn, wake: reach('wake'), cancel: reach('cancel') },
  });
  return [runs, sessions];
}
