/**
 * The turns of a session. Of a long one only what is seen, and a little around it, is in the page: the rest is room. A row's height is measured when it
 * is drawn, and guessed before; the browser keeps what is read in its place where a guess was wrong.
 */
import type { VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Rows } from '../report/components/timeline.tsx';
import { Steered, StepBody, TurnEnd, TurnHead } from '../report/components/turn.tsx';
import type { SessionView } from '../report/model/view.ts';
import { PeekBox, usePeek } from './peek.tsx';
import { type Row, RowList, rowAt, topsOf } from './rows.ts';

/** How much is drawn above and below what is seen. */
const MARGIN_PX = 700;

/** So near to the end, the page follows it. */
const NEAR_END_PX = 60;

interface Frame {
  readonly top: number;
  readonly height: number;
  readonly width: number;
}

export function Feed({ view, now }: { readonly view: SessionView; readonly now: number }): VNode {
  const list = useMemo(() => new RowList(), []);
  const rows = list.rowsOf(view);
  const { host, peek } = usePeek();
  const window = useWindow(rows);
  const { ref, first, last, tops, isAtEnd, toEnd, follow, measure } = window;
  useLayoutEffect(follow);
  return (
    <div class="feed-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div class="feed" ref={ref} role="feed" aria-label="Turns" aria-busy={false} tabIndex={0}>
        <div class="feed-room" style={{ height: `${tops[first] ?? 0}px` }} />
        <Rows.Provider value={host}>
          {rows.slice(first, last).map((row, place) => (
            <FeedRow
              key={row.key}
              row={row}
              place={first + place + 1}
              of={rows.length}
              now={isSettled(row) ? 0 : now}
              measure={measure}
            />
          ))}
        </Rows.Provider>
        <div class="feed-room" style={{ height: `${(tops[rows.length] ?? 0) - (tops[last] ?? 0)}px` }} />
      </div>
      {rows.length === 0 ? <p class="feed-empty note">Nothing was said yet.</p> : null}
      {isAtEnd ? null : (
        <button type="button" class="to-end" onClick={toEnd}>
          To the latest
        </button>
      )}
      <PeekBox peek={peek} />
    </div>
  );
}

/** Whether time changes nothing about a row. */
function isSettled(row: Row): boolean {
  return row.kind !== 'step' || row.step.endedAt !== undefined || row.turn.end !== undefined;
}

/** One row; what has not changed is not even compared. */
function FeedRow(props: {
  readonly row: Row;
  readonly place: number;
  readonly of: number;
  readonly now: number;
  readonly measure: (element: HTMLElement | null, key: string) => void;
}): VNode {
  const { row, place, of, now, measure } = props;
  const { key, kind, turn, index } = row;
  const content = kind === 'step' ? row.step : kind === 'steered' ? row.steered : turn;
  const isOver = turn.end !== undefined;
  // A settled step depends on nothing else of its turn, which changes with each event.
  const body = useMemo(() => bodyOf(row, now), [content, now, isOver, turn.limits, index]);
  const ref = useCallback((element: HTMLElement | null) => measure(element, key), [measure, key]);
  return (
    <article class={`feed-row feed-${kind}`} ref={ref} data-key={key} aria-posinset={place} aria-setsize={of}>
      {body}
    </article>
  );
}

function bodyOf(row: Row, now: number): VNode | null {
  const { turn, index } = row;
  switch (row.kind) {
    case 'head':
      return <TurnHead turn={turn} index={index} />;
    case 'steered':
      return <Steered steered={row.steered} />;
    case 'end':
      return <TurnEnd turn={turn} />;
    case 'step':
      return <StepBody step={row.step} parallel={turn.limits.parallel} isOver={turn.end !== undefined} now={now} />;
  }
}

/** Which rows are drawn, and what keeps it so. */
function useWindow(rows: readonly Row[]) {
  const ref = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>()).current;
  const [, redraw] = useState(0);
  const [frame, setFrame] = useState<Frame>({ top: 0, height: 800, width: 800 });
  const isFollowing = useRef(true);
  const [isAtEnd, setIsAtEnd] = useState(true);

  const observer = useMemo(
    () =>
      new ResizeObserver(entries => {
        let hasChanged = false;
        for (const { target, borderBoxSize } of entries) {
          const key = (target as HTMLElement).dataset.key ?? '';
          const height = borderBoxSize[0]?.blockSize ?? 0;
          if (height === 0 || Math.abs((heights.get(key) ?? 0) - height) < 0.5) continue;
          heights.set(key, height);
          hasChanged = true;
        }
        if (hasChanged) redraw(count => count + 1);
      }),
    [heights],
  );
  const elements = useRef(new Map<string, HTMLElement>()).current;
  const measure = useCallback(
    (element: HTMLElement | null, key: string) => {
      const before = elements.get(key);
      if (before !== undefined && before !== element) observer.unobserve(before);
      if (element === null) elements.delete(key);
      else {
        elements.set(key, element);
        observer.observe(element);
      }
    },
    [observer, elements],
  );

  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const read = (): void => {
      const { scrollTop: top, clientHeight: height, clientWidth: width, scrollHeight } = element;
      const isNear = scrollHeight - top - height < NEAR_END_PX;
      isFollowing.current = isNear;
      setIsAtEnd(isNear);
      setFrame(before =>
        before.top === top && before.height === height && before.width === width ? before : { top, height, width },
      );
    };
    const onResize = new ResizeObserver(() => {
      if (isFollowing.current) element.scrollTop = element.scrollHeight;
      read();
    });
    onResize.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      onResize.disconnect();
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, [observer]);

  const tops = topsOf(rows, heights, frame.width);
  const first = rowAt(tops, frame.top - MARGIN_PX);
  const last = Math.min(rows.length, rowAt(tops, frame.top + frame.height + MARGIN_PX) + 1);
  return {
    ...{ ref, first, last, tops, measure, isAtEnd },
    /** After each drawing: what is new is seen by whoever was at the end. */
    follow: () => {
      const element = ref.current;
      if (element !== null && isFollowing.current) element.scrollTop = element.scrollHeight;
    },
    toEnd: () => {
      isFollowing.current = true;
      const element = ref.current;
      if (element !== null) element.scrollTop = element.scrollHeight;
      element?.focus();
    },
  };
}
