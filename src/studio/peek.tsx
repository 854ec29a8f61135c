/** A glance at a call's arguments and result, beside the row that somebody points at or has in focus. */
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CallGlance } from '../report/components/call-details.tsx';
import { MostCharacters } from '../report/components/contents.tsx';
import type { RowHost } from '../report/components/timeline.tsx';
import type { CallView } from '../report/model/view.ts';

/** What is glanced at, and where there is room for it. */
export interface Peek {
  readonly call: CallView;
  readonly left: number;
  readonly top?: number;
  readonly bottom?: number;
}

const DELAY_MS = 250;
const WIDTH_PX = 460;
const HEIGHT_PX = 280;
const MOST_CHARACTERS = 400;

/** What rows tell of themselves: which are open, also while they are not in the page, and which is looked at. */
export function usePeek(): { readonly host: RowHost; readonly peek: Peek | undefined } {
  const [peek, setPeek] = useState<Peek>();
  const open = useRef(new Set<string>()).current;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const host = useMemo(
    (): RowHost => ({
      isOpen: callId => open.has(callId),
      setOpen(callId, isOpen) {
        if (isOpen) open.add(callId);
        else open.delete(callId);
        clearTimeout(timer.current);
        setPeek(undefined);
      },
      peek(call, row) {
        clearTimeout(timer.current);
        if (call === undefined || row === undefined || open.has(call.callId)) setPeek(undefined);
        else timer.current = setTimeout(() => setPeek(placed(call, row)), DELAY_MS);
      },
    }),
    [open],
  );
  useEffect(() => {
    const close = (): void => {
      clearTimeout(timer.current);
      setPeek(undefined);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close();
    };
    addEventListener('scroll', close, { capture: true, passive: true });
    addEventListener('keydown', onKey);
    return () => {
      clearTimeout(timer.current);
      removeEventListener('scroll', close, { capture: true });
      removeEventListener('keydown', onKey);
    };
  }, []);
  return { host, peek };
}

function placed(call: CallView, row: Element): Peek | undefined {
  if (!row.isConnected || innerWidth < WIDTH_PX * 1.4) return undefined; // too narrow: opening the row shows it
  const { bottom, top, right } = row.getBoundingClientRect();
  const left = Math.max(8, Math.min(right - WIDTH_PX - 12, innerWidth - WIDTH_PX - 8));
  if (bottom + HEIGHT_PX + 12 < innerHeight) return { call, left, top: bottom + 4 };
  return { call, left, bottom: innerHeight - top + 4 };
}

export function PeekBox({ peek }: { readonly peek: Peek | undefined }): VNode | null {
  if (peek === undefined) return null;
  const { call, left, top, bottom } = peek;
  const place = { left: `${left}px`, ...(top === undefined ? { bottom: `${bottom}px` } : { top: `${top}px` }) };
  return (
    // What it shows stands in the row itself for whoever opens it: to be read out on every focus it is too much.
    <div class="peek" style={place} aria-hidden="true">
      <MostCharacters.Provider value={MOST_CHARACTERS}>
        <CallGlance call={call} />
      </MostCharacters.Provider>
    </div>
  );
}
