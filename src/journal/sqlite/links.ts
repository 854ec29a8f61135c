/** The rows of a session are linked from the last to the first. */
import type { StatementSync } from 'node:sqlite';
import { isDamage } from './failure.ts';

export interface BatchLink {
  readonly row: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The row before it, or 0. */
  readonly previous: number;
}

/** One link of a session, by its row; and all of them, by a scan of the table. */
export interface Chain {
  readonly one: StatementSync;
  readonly all: StatementSync;
}

/** The links from the one that holds `fromSeq` to the last, or `undefined` where one is not what the next says of it. */
export function walkBack(
  chain: Chain,
  head: { readonly id: number; readonly lastSeq: number; readonly lastRow: number },
  fromSeq: number,
): BatchLink[] | undefined {
  const links: BatchLink[] = [];
  let [row, lastSeq] = [head.lastRow, head.lastSeq];
  for (;;) {
    const link = readLink(chain, row, head.id);
    if (link === undefined || link.lastSeq !== lastSeq || link.firstSeq > lastSeq) return undefined;
    if ((link.previous === 0) !== (link.firstSeq === 1) || link.previous >= row) return undefined;
    links.push(link);
    if (link.firstSeq <= fromSeq) return links.reverse();
    row = link.previous;
    lastSeq = link.firstSeq - 1;
  }
}

function readLink(chain: Chain, row: number, session: number): BatchLink | undefined {
  try {
    return chain.one.get(row, session) as BatchLink | undefined;
  } catch (cause) {
    if (isDamage(cause)) return undefined;
    throw cause;
  }
}

/** The links from the first record on, as far as they follow each other. */
export function intactStart(chain: Chain, session: number): BatchLink[] {
  const links: BatchLink[] = [];
  let nextSeq = 1;
  try {
    for (const found of chain.all.iterate(session)) {
      const link = found as unknown as BatchLink;
      if (link.firstSeq !== nextSeq || link.lastSeq < link.firstSeq) break;
      links.push(link);
      nextSeq = link.lastSeq + 1;
    }
  } catch (cause) {
    if (!isDamage(cause)) throw cause;
  }
  return links;
}
