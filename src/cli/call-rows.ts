/** Calls as rows of a terminal: one for a call that runs or waits, one for a call that is done, and below it why it failed. */

import { durationText } from '../report/model/format.ts';
import {
  type CompletedCall,
  callLabel,
  failureLabel,
  outcomeWord,
  resultLabel,
  toolLabel,
  updateLabel,
} from './call-text.ts';
import { fitRow, type Row, type Span } from './rows.ts';
import type { SecretFilter } from './secrets.ts';
import type { Painter } from './style.ts';
import { wrapToWidth } from './text-width.ts';
import type { OpenCall } from './turn-progress.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;

/** How long a picture of the spinner is shown, in milliseconds. */
export const SPINNER_MS = 100;

/** The most rows that say why a call failed. */
const MOST_REASON_ROWS = 2;

export class CallRows {
  readonly #secrets: SecretFilter;
  readonly #paint: Painter;

  constructor(secrets: SecretFilter, paint: Painter) {
    this.#secrets = secrets;
    this.#paint = paint;
  }

  /** A call that has its result; `call` is what was known of it before. The beginning of a result that is no failure is shown on demand. */
  completed(event: CompletedCall, call: OpenCall | undefined, width: number, withResult: boolean): readonly string[] {
    const mark: Span = event.isError ? { text: '✗', look: 'red' } : { text: '✓', look: 'green' };
    const took = call?.startedAt === undefined ? '' : `  ${durationText(event.durationMs)}`;
    const word = outcomeWord(event);
    const right: readonly Span[] = [
      { text: took, look: 'dim' },
      { text: word === '' ? '' : `  ${word}`, look: 'red' },
    ];
    const label = call === undefined ? '' : callLabel(call, this.#secrets);
    const { painted } = this.#row(mark, event.toolName, label, right, width);
    const below = withResult ? resultLabel(event, this.#secrets) : failureLabel(event, this.#secrets);
    return [painted, ...this.#reasonRows(below, width)];
  }

  /** The calls that run, then those that wait, in at most `room` rows; what has no room is counted in one more. */
  open(calls: readonly OpenCall[], now: number, width: number, room: number): readonly Row[] {
    const inOrder = [
      ...calls.filter(call => call.startedAt !== undefined),
      ...calls.filter(call => call.startedAt === undefined),
    ];
    const rows = inOrder.slice(0, room).map(call => this.#openRow(call, now, width));
    const more = inOrder.length - rows.length;
    if (more === 0) return rows;
    return [...rows, fitRow([{ text: `… and ${more} more`, look: 'dim' }], [], width, this.#paint)];
  }

  /** A row for what takes time without being a call. */
  busy(what: string, since: number, now: number, width: number): Row {
    return fitRow([spinner(now), { text: ` ${what}`, look: 'dim' }], [elapsed(since, now)], width, this.#paint);
  }

  #openRow(call: OpenCall, now: number, width: number): Row {
    const label = callLabel(call, this.#secrets);
    if (call.startedAt === undefined) {
      const waits: Span = { text: '  waits', look: 'dim' };
      return this.#row({ text: '·', look: 'dim' }, call.toolName, label, [waits], width);
    }
    const update = call.update === undefined ? '' : ` ${updateLabel(call.update, this.#secrets)}`;
    return this.#row(spinner(now), call.toolName, `${label}${update}`, [elapsed(call.startedAt, now)], width);
  }

  #row(mark: Span, toolName: string, label: string, right: readonly Span[], width: number): Row {
    const left: readonly Span[] = [
      mark,
      { text: ` ${toolLabel(toolName, this.#secrets)}` },
      { text: label === '' ? '' : ` ${label}`, look: 'dim' },
    ];
    return fitRow(left, right, width, this.#paint);
  }

  #reasonRows(why: string, width: number): readonly string[] {
    if (why === '') return [];
    const rows = wrapToWidth(why, Math.max(width - 2, 1));
    return rows.slice(0, MOST_REASON_ROWS).map((row, index) => {
      const isCut = index === MOST_REASON_ROWS - 1 && rows.length > MOST_REASON_ROWS;
      return fitRow([{ text: `  ${row}${isCut ? ' …' : ''}`, look: 'dim' }], [], width, this.#paint).painted;
    });
  }
}

function spinner(now: number): Span {
  return { text: SPINNER[Math.floor(now / SPINNER_MS) % SPINNER.length] ?? SPINNER[0], look: 'cyan' };
}

function elapsed(since: number, now: number): Span {
  return { text: `  ${durationText(Math.max(0, now - since))}`, look: 'dim' };
}
