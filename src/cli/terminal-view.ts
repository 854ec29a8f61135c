/**
 * The view for a terminal. What is done (rows of text, calls with their outcome) is printed for good; below it the live area shows the
 * row of text that grows, the calls that run, and the gauges. No row is ever as wide as the window, so that nothing wraps.
 */
import type { Clock, TurnEvent } from '../index.ts';
import { CallRows, SPINNER_MS } from './call-rows.ts';
import { toolLabel } from './call-text.ts';
import { FrameRows } from './frame-rows.ts';
import { finalGauges, liveGauges } from './gauges.ts';
import { type BottomRows, LiveArea } from './live-area.ts';
import { noteOf, retryNote } from './notes.ts';
import { fitRow, type Row } from './rows.ts';
import { SafeStream } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { Painter } from './style.ts';
import { TextFlow } from './text-flow.ts';
import { TurnProgress } from './turn-progress.ts';
import type { RunEnd, RunHeader, View, ViewOutput } from './view.ts';

/** Text may come in a thousand pieces a second; the live area is drawn no more often than this. */
const LEAST_REDRAW_MS = 30;

/** The most calls in the live area, and the rows of a window that are never used for them. */
const MOST_CALL_ROWS = 8;
const ROWS_KEPT_FREE = 5;

/** The most empty rows at the beginning of the live area. */
const MOST_EMPTY_ROWS = 2;

const EMPTY_ROW: Row = Object.freeze({ painted: '', width: 0 });

/** The most rows of a prompt that are shown to the person who wrote it just now. */
const MOST_PROMPT_ROWS = 3;

/** What a terminal view needs to know of its surroundings. */
export interface TerminalViewOptions {
  readonly output: ViewOutput;
  readonly secrets: SecretFilter;
  readonly clock: Clock;
  readonly paint: Painter;
  /** Whether what the model thinks is left out. */
  readonly hideReasoning: boolean;
  /** The size of the window, asked each time: it may change. */
  readonly columns: () => number;
  readonly rows: () => number;
  /** Whether the turn happens now, so that what is under way is drawn. */
  readonly isLive: boolean;
  /** What draws the live area. Default: one of the view's own. */
  readonly area?: BottomRows;
}

/** What stands above: kinds are set apart by an empty row, and so are the words of two steps. */
type Kind = 'head' | 'text' | 'reasoning' | 'earlier words' | 'line' | 'question' | 'end';

export class TerminalView implements View {
  readonly #output: ViewOutput;
  readonly #secrets: SecretFilter;
  readonly #clock: Clock;
  readonly #paint: Painter;
  readonly #hideReasoning: boolean;
  readonly #columns: () => number;
  readonly #rows: () => number;
  readonly #isLive: boolean;
  readonly #progress = new TurnProgress();
  readonly #calls: CallRows;
  readonly #frame: FrameRows;
  readonly #area: BottomRows;
  readonly #stream: SafeStream;
  readonly #flow = new TextFlow();
  #above: Kind = 'head';
  /** What the flow holds, and empty rows of it that are only shown if more text follows. */
  #flowKind: 'text' | 'reasoning' = 'text';
  #emptyRows = 0;
  /** The text of the present attempt as it came, and whether anything of the attempt can be seen. */
  #text = '';
  #hasShown = false;
  #tries = 1;
  /** What the model is doing, where nothing else shows it. */
  #waiting: { readonly what: string; readonly since: number } | undefined;
  #timer: ReturnType<Clock['setTimer']> | undefined;
  #drawnAt = Number.NEGATIVE_INFINITY;
  /** Whether the cursor stands behind a question, where nothing may be drawn. */
  #isAsking = false;
  #isOver = false;

  constructor(options: TerminalViewOptions) {
    this.#output = options.output;
    this.#secrets = options.secrets;
    this.#clock = options.clock;
    this.#paint = options.paint;
    this.#hideReasoning = options.hideReasoning;
    this.#columns = options.columns;
    this.#rows = options.rows;
    this.#isLive = options.isLive;
    this.#calls = new CallRows(options.secrets, options.paint);
    this.#frame = new FrameRows(options.secrets, options.paint);
    this.#area = options.area ?? new LiveArea(text => this.#output.progress(text), options.columns);
    this.#stream = new SafeStream(options.secrets);
  }

  start(header: RunHeader): void {
    this.#tries = header.tries;
    this.#print(
      'head',
      this.#frame.head(header, this.#width, this.#isLive ? MOST_PROMPT_ROWS : Number.POSITIVE_INFINITY),
    );
  }

  event(event: TurnEvent): void {
    if (event.type === 'tool.completed') {
      this.#finishText();
      const call = this.#progress.openCall(event.callId);
      this.#print('line', this.#calls.completed(event, call, this.#width, !this.#isLive));
    }
    this.#progress.apply(event);
    this.#tell(event);
    this.#redraw();
  }

  notice(text: string): void {
    this.#finishText();
    this.#print('line', this.#frame.line(text, 'yellow', this.#width));
    this.#redraw();
  }

  ask(lines: readonly string[], prompt: string): void {
    this.#finishText();
    this.#rest();
    this.#print('question', this.#frame.question(lines, this.#width));
    this.#output.progress(this.#paint('cyan', prompt));
    this.#isAsking = true;
  }

  answered(): void {
    this.#isAsking = false;
    this.#redraw();
  }

  end(end: RunEnd): void {
    this.#finish();
    const gauges = end.gates === undefined ? finalGauges(this.#progress, this.#clock.now()) : [];
    this.#print('end', this.#frame.end(end, gauges, this.#width));
  }

  abandon(): void {
    this.#finish();
  }

  #tell(event: TurnEvent): void {
    switch (event.type) {
      case 'step.started':
        this.#attempt(event.at);
        break;
      case 'text.delta':
        this.#text += event.text;
        this.#add('text', event.text);
        break;
      case 'reasoning.delta':
        this.#think(event);
        break;
      case 'tool.input.delta':
        this.#finishText();
        this.#waiting = {
          what: `the model writes a call of ${toolLabel(event.toolName, this.#secrets)}`,
          since: this.#waiting?.since ?? event.at,
        };
        break;
      case 'tool.called':
      case 'gate.opened':
        this.#finishText();
        this.#waiting = undefined;
        break;
      case 'step.retrying':
        this.#note(retryNote(event, this.#tries, this.#hasShown));
        this.#attempt(event.at);
        break;
      case 'step.done':
        this.#stepDone(event.text);
        break;
      default: {
        const note = noteOf(event);
        if (note !== undefined) this.#note(note);
        break;
      }
    }
  }

  /** The model is asked, for the first time in a step or again. */
  #attempt(at: number): void {
    this.#text = '';
    this.#hasShown = false;
    if (this.#above === 'text' || this.#above === 'reasoning') this.#above = 'earlier words';
    this.#waiting = { what: 'waiting for the model', since: at };
  }

  #think({ text, at }: Extract<TurnEvent, { type: 'reasoning.delta' }>): void {
    if (!this.#hideReasoning) this.#add('reasoning', text);
    else if (this.#flow.partial === '') this.#waiting = { what: 'the model thinks', since: this.#waiting?.since ?? at };
  }

  /** Text that did not come piece by piece, or of which pieces were left out, is whole here. */
  #stepDone(text: string): void {
    if (text.startsWith(this.#text)) this.#add('text', text.slice(this.#text.length));
    else {
      this.#finishText();
      this.#add('text', text);
    }
    this.#finishText();
    this.#text = '';
    this.#waiting = undefined;
  }

  #add(kind: 'text' | 'reasoning', piece: string): void {
    if (piece === '') return;
    if (kind !== this.#flowKind) this.#finishText();
    this.#flowKind = kind;
    this.#hasShown = true;
    this.#waiting = undefined;
    this.#printFlow(this.#flow.push(this.#stream.push(piece), this.#width));
  }

  #finishText(): void {
    this.#printFlow([...this.#flow.push(this.#stream.end(), this.#width), ...this.#flow.end()]);
    this.#emptyRows = 0;
  }

  /** Rows of the flow. Empty ones before, behind and between two kinds are left out. */
  #printFlow(rows: readonly string[]): void {
    const kind = this.#flowKind;
    const shown: string[] = [];
    for (const row of rows) {
      if (row.trim() === '') {
        if (this.#above === kind || shown.length > 0) this.#emptyRows += 1;
        continue;
      }
      for (; this.#emptyRows > 0; this.#emptyRows--) shown.push('');
      shown.push(this.#paint(kind === 'reasoning' ? 'dim' : 'plain', row));
    }
    this.#print(kind, shown);
  }

  #note(text: string): void {
    this.#finishText();
    this.#print('line', this.#frame.line(text, 'yellow', this.#width));
  }

  /** Prints painted rows for good. The answer's rows are standard output's, even where both are one screen. */
  #print(kind: Kind, rows: readonly string[]): void {
    if (rows.length === 0) return;
    this.#area.erase();
    if (this.#isAsking) this.#output.progress('\n');
    this.#isAsking = false;
    if (kind !== this.#above) this.#output.progress('\n');
    this.#above = kind;
    const text = `${rows.join('\n')}\n`;
    if (kind === 'text') this.#output.answer(text);
    else this.#output.progress(text);
    this.#drawnAt = Number.NEGATIVE_INFINITY;
  }

  #finish(): void {
    this.#isOver = true;
    this.#finishText();
    this.#rest();
    if (this.#isAsking) this.#output.progress('\n');
    this.#isAsking = false;
  }

  /** Nothing is drawn until something happens. */
  #rest(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#area.erase();
  }

  /** Draws the live area now, or soon where it was drawn a moment ago. */
  #redraw(): void {
    if (this.#isOver || this.#isAsking || !this.#isLive) return;
    const now = this.#clock.now();
    const wait = this.#drawnAt + LEAST_REDRAW_MS - now;
    if (wait <= 0) {
      this.#drawnAt = now;
      this.#area.draw(this.#liveRows(now));
    }
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = this.#clock.setTimer(() => this.#redraw(), wait > 0 ? wait : SPINNER_MS);
  }

  #liveRows(now: number): readonly Row[] {
    const width = this.#width;
    const status = fitRow([{ text: liveGauges(this.#progress, now, width), look: 'dim' }], [], width, this.#paint);
    const busy = this.#busyRows(now);
    const rowsBefore = busy.length === 0 ? 0 : this.#rowsBefore;
    return [...Array<Row>(rowsBefore).fill(EMPTY_ROW), ...busy, EMPTY_ROW, status];
  }

  /** How many empty rows are between what stands above and what the live area begins with. */
  get #rowsBefore(): number {
    const kind: Kind = this.#flow.partial === '' ? 'line' : this.#flowKind;
    return kind === this.#above ? Math.min(this.#emptyRows, MOST_EMPTY_ROWS) : 1;
  }

  #busyRows(now: number): readonly Row[] {
    const partial = this.#flow.partial;
    if (partial.trim() !== '') {
      const look = this.#flowKind === 'reasoning' ? 'dim' : 'plain';
      return [fitRow([{ text: partial, look }], [], this.#width, this.#paint)];
    }
    const calls = this.#progress.openCalls;
    const room = Math.max(1, Math.min(MOST_CALL_ROWS, this.#rows() - ROWS_KEPT_FREE));
    if (calls.length > 0) return this.#calls.open(calls, now, this.#width, room);
    if (this.#waiting === undefined) return [];
    return [this.#calls.busy(this.#waiting.what, this.#waiting.since, now, this.#width)];
  }

  /** One column is left free: a row that fills the window leaves the cursor in a place that terminals disagree about. */
  get #width(): number {
    return Math.max(1, this.#columns() - 1);
  }
}
