/** A conversation in a terminal: the line that a person writes stays at the bottom, and everything else goes by above it. */
import type { Host } from '../host.ts';
import type { ChatOptions } from '../options.ts';
import { fitRow, type Row } from '../rows.ts';
import { neutralise, oneLine } from '../safe-text.ts';
import type { SecretFilter } from '../secrets.ts';
import { createPainter, type Look, type Painter } from '../style.ts';
import { TerminalView } from '../terminal-view.ts';
import { wrapToWidth } from '../text-width.ts';
import type { View } from '../view.ts';
import { sizeOf } from '../views.ts';
import { Bottom } from './bottom.ts';
import type { ChatFront, ChatListener, ChatState } from './front.ts';
import type { InputHistory } from './input-history.ts';
import { inputRows, type PlacedRows } from './input-rows.ts';
import { LineEditor } from './line-editor.ts';

/** What is told in one sequence, so that pasted lines are known from typed ones. */
const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';
/** The first row is left empty: where the bottom begins there, some terminals keep it among what has scrolled away. */
const CLEAR_SCREEN = '\u001b[H\u001b[2J\u001b[3J\n';

const EMPTY_ROW: Row = Object.freeze({ painted: '', width: 0 });

/** The most texts that wait of which is told, and the rows of choices. */
const MOST_WAITING = 3;
const MOST_CHOICE_ROWS = 4;

/** What a front in a terminal is made of. */
export interface TerminalFrontParts {
  readonly host: Host;
  readonly options: Pick<ChatOptions, 'hideReasoning'>;
  readonly secrets: SecretFilter;
  readonly history: InputHistory;
  /** What the words of a line may become with the tab key. */
  complete(line: string): readonly string[];
}

/** A question that is open. */
interface Asked {
  readonly prompt: string;
  readonly line: PromiseWithResolvers<string | undefined>;
  /** Whether the next line answers it: what was begun before it was to be seen does not. */
  isNext: boolean;
}

export class TerminalFront implements ChatFront {
  readonly isScript = false;
  readonly #parts: TerminalFrontParts;
  readonly #paint: Painter = createPainter(true);
  readonly #size: ReturnType<typeof sizeOf>;
  readonly #bottom: Bottom;
  #editor: LineEditor | undefined;
  #view: TerminalView | undefined;
  #state: ChatState = { mode: '', isRunning: false, waiting: [] };
  #hint = '';
  #prompt = '';
  #asked: Asked | undefined;

  constructor(parts: TerminalFrontParts) {
    this.#parts = parts;
    this.#size = sizeOf(parts.host.stdout);
    this.#bottom = new Bottom({
      ...this.#size,
      write: text => void parts.host.stderr.write(text),
      below: hasTurn => this.#below(hasTurn),
    });
  }

  listen(listener: ChatListener): void {
    const { host, history, complete } = this.#parts;
    host.stderr.write(PASTE_ON);
    host.stdout.on?.('resize', this.#redraw);
    this.#editor = new LineEditor({
      ...{ input: host.stdin, history, complete: line => (this.#asked?.isNext === true ? [] : complete(line)) },
      listener: {
        entered: text => this.#entered(text, listener),
        pressed: () => {
          this.#hint = '';
        },
        changed: () => this.#changed(),
        cleared: () => this.clearScreen(),
        interrupted: () => listener.interrupted(),
        ended: () => {
          if (this.#asked === undefined) listener.ended();
          else this.#asked.line.resolve(undefined);
        },
        cameBack: () => {
          host.stderr.write(PASTE_ON);
          this.#bottom.cameBack();
        },
      },
    });
    this.#redraw();
  }

  turnView(): View {
    const { host, options, secrets } = this.#parts;
    const { stdout, stderr, clock } = host;
    const view = new TerminalView({
      output: { answer: text => stdout.write(text), progress: text => stderr.write(text) },
      ...{ secrets, clock, hideReasoning: options.hideReasoning, isLive: true, paint: this.#paint },
      columns: this.#size.columns,
      // One row of the line that is written is counted by the view as free.
      rows: () => this.#size.rows() - this.#below(true).rows.length + 1,
      area: this.#bottom,
    });
    this.#view = view;
    return {
      start: header => this.#begun(() => view.start(header)),
      event: event => view.event(event),
      notice: text => view.notice(text),
      ask: (lines, prompt) => view.ask(lines, prompt),
      answered: () => view.answered(),
      end: end => this.#over(() => view.end(end)),
      abandon: () => this.#over(() => view.abandon()),
    };
  }

  steered(text: string): void {
    this.#showLines([`› ${oneLine(text, this.#parts.secrets)}`]);
  }

  show(state: ChatState): void {
    this.#state = state;
    this.#redraw();
  }

  say(text: string, look: Look = 'dim'): void {
    const safe = neutralise(this.#parts.secrets.clean(text).replaceAll(/\s*\n\s*/g, ' '));
    const inset = /^ */.exec(safe)?.[0] ?? '';
    const rows = wrapToWidth(safe.slice(inset.length), Math.max(1, this.#width - inset.length)).map(row =>
      this.#paint(look, `${inset}${row}`),
    );
    this.print(`${rows.join('\n')}\n`);
  }

  print(text: string): void {
    this.#aside(() => this.#parts.host.stderr.write(text));
  }

  hint(text: string): void {
    this.#hint = text;
    this.#redraw();
  }

  ask(lines: readonly string[], prompt: string): void {
    this.#showLines(lines);
    this.#prompt = prompt.trimStart();
  }

  async answer(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted) return undefined;
    const line = Promise.withResolvers<string | undefined>();
    const over = (): void => line.resolve(undefined);
    stop.addEventListener('abort', over, { once: true });
    this.#asked = { prompt: this.#prompt, line, isNext: false };
    this.#changed();
    try {
      return await line.promise;
    } finally {
      stop.removeEventListener('abort', over);
      // What was begun as an answer is none to anything else.
      if (this.#asked.isNext) this.#editor?.replace('');
      this.#asked = undefined;
      this.#redraw();
    }
  }

  prefill(text: string): boolean {
    this.#prefilled = text;
    return true;
  }

  clearLine(): boolean {
    if (this.#editor === undefined || this.#editor.isEmpty) return false;
    this.#editor.replace('');
    this.#changed();
    return true;
  }

  clearScreen(): void {
    this.#bottom.erase();
    this.#parts.host.stderr.write(CLEAR_SCREEN);
    this.#redraw();
  }

  close(): void {
    const { stdout, stderr } = this.#parts.host;
    stdout.off?.('resize', this.#redraw);
    this.#bottom.close();
    if (this.#editor !== undefined) stderr.write(PASTE_OFF);
    this.#editor?.close();
    this.#editor = undefined;
  }

  /** The text that the next answer begins with. */
  #prefilled = '';

  /** Lines that stand out in what a turn shows. */
  #showLines(lines: readonly string[]): void {
    if (this.#view === undefined) this.print(`\n${lines.map(line => `${line}\n`).join('')}`);
    else {
      this.#view.ask(lines, '');
      this.#view.answered();
    }
  }

  readonly #redraw = (): void => this.#bottom.refresh();

  #changed(): void {
    const asked = this.#asked;
    if (asked !== undefined && !asked.isNext && this.#editor?.isEmpty === true) {
      asked.isNext = true;
      if (this.#prefilled !== '') this.#editor.replace(this.#prefilled);
      this.#prefilled = '';
    }
    this.#redraw();
  }

  #entered(text: string, listener: ChatListener): void {
    const { history } = this.#parts;
    if (this.#asked?.isNext === true) {
      history.leave();
      this.say(`  › ${text}`);
      this.#asked.line.resolve(text);
      return;
    }
    history.add(text);
    void listener.said(text);
  }

  /** A turn stands apart from what was before it. */
  #begun(start: () => void): void {
    this.print('\n');
    this.#aside(start);
  }

  /** Writes for good, above the bottom. */
  #aside(write: () => unknown): void {
    this.#bottom.erase();
    write();
    this.#redraw();
  }

  #over(end: () => void): void {
    this.#bottom.erase();
    end();
    this.#view = undefined;
    this.#bottom.draw([]);
  }

  #below(hasTurn: boolean): PlacedRows {
    const { waiting } = this.#state;
    const head: readonly Row[] = [
      ...(hasTurn ? [] : [EMPTY_ROW]),
      ...waiting.slice(0, MOST_WAITING).map(({ text, steers }) => this.#waitingRow(text, steers)),
      ...(waiting.length > MOST_WAITING ? [this.#dim(`  … and ${waiting.length - MOST_WAITING} more`)] : []),
      ...this.#choiceRows(),
      ...(this.#words === '' ? [] : [this.#dim(this.#words)]),
    ];
    const { rows, cursor } = inputRows(this.#editor?.typed ?? { lines: [''], cursor: 0 }, {
      ...this.#promptNow,
      ...{ width: this.#width, paint: this.#paint },
      mostRows: Math.max(1, Math.floor(this.#size.rows() / 2)),
    });
    return { rows: [...head, ...rows], cursor: { ...cursor, row: head.length + cursor.row } };
  }

  get #promptNow(): { readonly prompt: string; readonly placeholder: string } {
    if (this.#asked?.isNext === true) return { prompt: this.#asked.prompt, placeholder: '' };
    const { mode, isRunning } = this.#state;
    const shownMode = oneLine(mode, this.#parts.secrets);
    const prompt = shownMode === '' ? '› ' : `${shownMode} › `;
    return { prompt, placeholder: isRunning ? 'Enter steers, Ctrl-C interrupts' : 'say what is to be done, or /help' };
  }

  /** The words that help at this moment. */
  get #words(): string {
    if (this.#asked?.isNext === false) return 'a question waits above: send this line, or empty it (Ctrl-U), to answer';
    return this.#hint;
  }

  #waitingRow(text: string, steers: boolean): Row {
    const when = steers ? '  goes in at the next step' : '  waits for its turn';
    const left = [{ text: `› ${oneLine(text, this.#parts.secrets)}` }];
    return fitRow(left, [{ text: when, look: 'dim' }], this.#width, this.#paint);
  }

  #choiceRows(): readonly Row[] {
    const choices = this.#editor?.choices ?? [];
    return wrapToWidth(choices.map(choice => choice.trim()).join('  '), this.#width)
      .filter(row => row !== '')
      .slice(0, MOST_CHOICE_ROWS)
      .map(row => this.#dim(row));
  }

  #dim(text: string): Row {
    return fitRow([{ text, look: 'dim' }], [], this.#width, this.#paint);
  }

  get #width(): number {
    return Math.max(1, this.#size.columns() - 1);
  }
}
