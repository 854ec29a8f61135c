/** Points in time as the reader's clock and language have them; pointed at, they say what everybody's clock said. */
import type { ComponentChildren, VNode } from 'preact';
import { timeText } from '../report/model/format.ts';

/** A point in time: in full, or as `children` put it. */
export function Time({ at, children }: { readonly at: number; readonly children?: ComponentChildren }): VNode {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{children ?? timeText(at)}</span>;
  return (
    <time dateTime={date.toISOString()} title={timeText(at)}>
      {children ?? date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}
    </time>
  );
}
