/** An engine whose runs lock their session, as the other commands do: a turn of one process is never taken from under another. */
import type { Engine, RunTurn, TurnRef } from '../engines/index.ts';
import { overlaid } from '../overlaid.ts';
import { isLocked, lockSession, SessionInUseError } from './session-lock.ts';
import type { StorePlace } from './store-place.ts';

/**
 * The same engine, but that a session which another process works on has its turns run when that has ended: until then its runs reject, and are tried again.
 * `waits` is told once of each session that has to wait.
 */
export function lockingEngine(
  engine: Engine,
  place: StorePlace | undefined,
  shownAs: (sessionId: string) => string,
  waits: (sessionId: string) => void,
): Engine {
  const waiting = new Set<string>();
  const locked =
    (run: RunTurn): RunTurn =>
    async (ref, signals) => {
      const lock = await lockFor(ref);
      try {
        return await run(ref, signals);
      } finally {
        await lock.release();
      }
    };
  const lockFor = async ({ sessionId }: TurnRef): ReturnType<typeof lockSession> => {
    try {
      const lock = await lockSession(place, sessionId, shownAs(sessionId));
      waiting.delete(sessionId);
      return lock;
    } catch (error) {
      if (error instanceof SessionInUseError && !waiting.has(sessionId)) {
        waiting.add(sessionId);
        waits(sessionId);
      }
      throw error;
    }
  };
  /** What another process works on is under way, too. */
  const has = async (ref: TurnRef): Promise<boolean> =>
    (await engine.has?.(ref)) === true || isLocked(place, ref.sessionId);
  return overlaid(engine, {
    serve: run => engine.serve(locked(run)),
    ...(engine.has !== undefined && { has }),
  });
}
