/** Sessions as a table. */
import { ageText } from '../report/model/format.ts';
import { fitRow, type Span } from './rows.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { ListedSession, SessionStanding } from './stored-session.ts';
import type { Look, Painter } from './style.ts';

/** Windows that are narrower have no room for counts. */
const LEAST_COLUMNS_FOR_COUNTS = 60;

/** What a table needs to know of its surroundings. */
export interface TableOptions {
  readonly secrets: SecretFilter;
  readonly paint: Painter;
  /** The columns of the window; `undefined` where there is none and nothing is cut. */
  readonly columns: number | undefined;
  readonly now: number;
}

/** A session with the id that people type. */
export interface TableEntry {
  readonly shown: string;
  readonly session: ListedSession;
}

const STATE_WORDS: Readonly<Record<SessionStanding, string>> = Object.freeze({
  ...{ new: 'new', done: 'done', failed: 'failed', interrupted: 'interrupted', unfinished: 'unfinished' },
  ...{ waiting: 'waiting', running: 'running', damaged: 'damaged' },
});

const STATE_LOOKS: Readonly<Record<SessionStanding, Look>> = Object.freeze({
  ...{ new: 'dim', done: 'green', failed: 'red', interrupted: 'yellow', unfinished: 'yellow' },
  ...{ waiting: 'yellow', running: 'cyan', damaged: 'red' },
} as const);

/** How a session stands, in a word or two. */
export function stateWord(state: SessionStanding): string {
  return STATE_WORDS[state];
}

interface Column {
  readonly head: string;
  readonly isNumber: boolean;
  text(entry: TableEntry): string;
  look(entry: TableEntry): Look;
}

/** The rows of a table, its head first. */
export function sessionTable(entries: readonly TableEntry[], options: TableOptions): readonly string[] {
  const { secrets, paint, columns: width = Number.POSITIVE_INFINITY } = options;
  const columns = columnsFor(options);
  const widths = columns.map(({ head, text }) => Math.max(head.length, ...entries.map(entry => text(entry).length)));
  const row = (cell: (column: Column) => Span, title: Span): string => {
    const cells = columns.map((column, index): Span => {
      const { text, look } = cell(column);
      const padded = column.isNumber ? text.padStart(widths[index] ?? 0) : text.padEnd(widths[index] ?? 0);
      return { text: `${padded}  `, look: look ?? 'plain' };
    });
    return fitRow([...cells, title], [], width - 1, paint).painted.trimEnd();
  };
  return [
    row(({ head }) => ({ text: head, look: 'dim' }), { text: 'title', look: 'dim' }),
    ...entries.map(entry =>
      row(column => ({ text: column.text(entry), look: column.look(entry) }), {
        text: oneLine(entry.session.title, secrets),
      }),
    ),
  ];
}

function columnsFor({ now, columns = Number.POSITIVE_INFINITY }: TableOptions): readonly Column[] {
  const plain = (): Look => 'plain';
  const dim = (): Look => 'dim';
  const counts: readonly Column[] = [
    { head: 'turns', isNumber: true, text: ({ session }) => String(session.turns), look: plain },
    { head: 'calls', isNumber: true, text: ({ session }) => String(session.calls), look: plain },
  ];
  return [
    { head: 'id', isNumber: false, text: ({ shown }) => shown, look: () => 'cyan' },
    { head: 'age', isNumber: false, text: ({ session }) => ageText(now - session.updatedAt), look: dim },
    {
      head: 'state',
      isNumber: false,
      text: ({ session }) => stateWord(session.state),
      look: ({ session }) => STATE_LOOKS[session.state],
    },
    ...(columns < LEAST_COLUMNS_FOR_COUNTS ? [] : counts),
  ];
}
