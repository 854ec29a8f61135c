/** What components of the studio have in common. */
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { sentenceOf } from './client.ts';
import type { LiveSession, LiveState } from './live-session.ts';

/** The state of a session, drawn anew whenever it changes. */
export function useLive(live: LiveSession): LiveState {
  const [, redraw] = useReducer((count: number, _action: undefined) => count + 1, 0);
  useEffect(() => {
    const off = live.subscribe(() => redraw(undefined));
    redraw(undefined); // what came between the first drawing and now
    return off;
  }, [live]);
  return live.state;
}

/** The server's time, while something goes on that is drawn by it; `at` is when the last event happened, and no time before it is now. */
export function useNow(isTicking: boolean, at: number, aheadMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isTicking]);
  return Math.max(now + aheadMs, at);
}

/** An action of a person: whether it is under way, and what went wrong with the last one. */
export interface Action {
  readonly isBusy: boolean;
  readonly failure: string | undefined;
  /** Gives whether it went well. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

export function useAction(): Action {
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  return {
    isBusy,
    failure,
    clear: () => setFailure(undefined),
    async run(work) {
      setIsBusy(true);
      setFailure(undefined);
      try {
        await work();
        return true;
      } catch (error) {
        setFailure(sentenceOf(error));
        return false;
      } finally {
        setIsBusy(false);
      }
    },
  };
}

/** Asks again and again while the page is seen, and at once when `ask` changes. */
export function usePolling(ask: () => Promise<void>, ms: number): void {
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    const tick = (): void => {
      if (!document.hidden) void latest.current();
    };
    tick();
    const timer = setInterval(tick, ms);
    document.addEventListener('visibilitychange', tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', tick);
    };
  }, [ms]);
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  const media = useMemo(() => matchMedia(query), [query]);
  const [isTrue, setIsTrue] = useState(media.matches);
  useEffect(() => {
    const read = (): void => setIsTrue(media.matches);
    media.addEventListener('change', read);
    return () => media.removeEventListener('change', read);
  }, [media]);
  return isTrue;
}

/** What was there before, where what came is the same: it is not drawn again. */
export function unlessSame<Value>(before: Value, next: Value): Value {
  return JSON.stringify(before) === JSON.stringify(next) ? before : next;
}
