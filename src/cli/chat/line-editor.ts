/**
 * The line that a person writes, key by key. Node's readline edits it and says nothing of it on the screen: whoever draws asks for the text. More
 * lines than one come of a paste, of a backslash at the end of a line, and of Alt-Enter.
 */
import { createInterface, type Interface, type Key } from 'node:readline';
import { Writable } from 'node:stream';
import type { HostInput } from '../host.ts';
import type { InputHistory } from './input-history.ts';
import type { TypedText } from './input-rows.ts';

/** Who is told what the person does. */
interface EditorListener {
  /** Enter: the text is complete, and the line empty again. */
  entered(text: string): void;
  /** A key was pressed, and has had no effect yet. */
  pressed(): void;
  /** Something may look different. */
  changed(): void;
  /** Ctrl-L. */
  cleared(): void;
  /** Ctrl-C. */
  interrupted(): void;
  /** Ctrl-D in an empty line, or the end of the input. */
  ended(): void;
  /** The program was stopped by the shell, and goes on. */
  cameBack(): void;
}

/** What an editor is made of. */
export interface EditorParts {
  readonly input: HostInput;
  readonly history: InputHistory;
  readonly listener: EditorListener;
  /** What the words of a line may become with the tab key. */
  complete(line: string): readonly string[];
}

const TO_END: Key = { ctrl: true, name: 'e' };
const DROP_LINE: Key = { ctrl: true, name: 'u' };

export class LineEditor {
  readonly #parts: EditorParts;
  readonly #readline: Interface;
  /** The lines above the one that is edited. */
  #above: string[] = [];
  #isPasting = false;
  #choices: readonly string[] = [];
  #isClosed = false;

  /** Takes the terminal: from now on it gives each key as it is pressed. */
  constructor(parts: EditorParts) {
    this.#parts = parts;
    const { input } = parts;
    const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
    this.#readline = createInterface({
      ...{ input, output: nowhere, terminal: true, historySize: 0 },
      completer: (line: string) => [this.#complete(line), line],
    });
    this.#readline.on('line', line => this.#lineEnded(line));
    this.#readline.on('SIGINT', () => parts.listener.interrupted());
    this.#readline.on('SIGCONT', () => {
      this.#readline.resume();
      parts.listener.cameBack();
    });
    this.#readline.on('close', () => {
      const isByPerson = !this.#isClosed;
      this.#isClosed = true;
      if (isByPerson) parts.listener.ended();
    });
    // Before readline takes a key, since some depend on where the cursor was; and after, to see what became of the line.
    input.prependListener('keypress', this.#beforeKey);
    input.on('keypress', this.#afterKey);
  }

  get typed(): TypedText {
    return { lines: [...this.#above, this.#readline.line], cursor: this.#readline.cursor };
  }

  get isEmpty(): boolean {
    return this.#above.length === 0 && this.#readline.line === '';
  }

  /** What the tab key has found, where it is more than one thing. */
  get choices(): readonly string[] {
    return this.#choices;
  }

  /** Puts `text` in the place of what is there, the cursor behind it. */
  replace(text: string): void {
    if (this.#isClosed) return;
    const lines = text.split('\n');
    this.#above = lines.slice(0, -1);
    this.#readline.write(null, TO_END);
    this.#readline.write(null, DROP_LINE);
    const last = lines.at(-1) ?? '';
    if (last !== '') this.#readline.write(last);
  }

  /** Gives the terminal back. */
  close(): void {
    this.#isClosed = true;
    this.#parts.input.off('keypress', this.#beforeKey);
    this.#parts.input.off('keypress', this.#afterKey);
    this.#readline.close();
  }

  readonly #beforeKey = (_text: string | undefined, key: Key): void => {
    const { history, listener } = this.#parts;
    listener.pressed();
    if (key.name !== 'tab') this.#choices = [];
    const { line, cursor } = this.#readline;
    if (key.name === 'paste-start') this.#isPasting = true;
    else if (key.name === 'paste-end') this.#isPasting = false;
    else if (key.name === 'up' || (key.ctrl === true && key.name === 'p')) this.#recall(history.back(this.#text));
    else if (key.name === 'down' || (key.ctrl === true && key.name === 'n')) this.#recall(history.forward());
    else if (key.ctrl === true && key.name === 'l') listener.cleared();
    else if (key.name === 'return' && key.meta === true) {
      this.#above.push(line.slice(0, cursor));
      this.#readline.write(null, DROP_LINE);
    } else if (key.name === 'backspace' && cursor === 0 && this.#above.length > 0) {
      // The key that follows takes the space away, and so the two lines are one.
      this.#readline.write(`${this.#above.pop() ?? ''} `);
    }
  };

  readonly #afterKey = (): void => {
    if (!this.#isClosed) this.#parts.listener.changed();
  };

  get #text(): string {
    return this.typed.lines.join('\n');
  }

  #recall(entry: string | undefined): void {
    if (entry !== undefined) this.replace(entry);
  }

  #lineEnded(line: string): void {
    const goesOn = /(?<!\\)(?:\\\\)*\\$/.test(line);
    if (this.#isPasting) this.#above.push(line);
    else if (goesOn) this.#above.push(line.slice(0, -1));
    else {
      const text = [...this.#above, line].join('\n');
      this.#above = [];
      this.#parts.listener.entered(text);
    }
  }

  #complete(line: string): string[] {
    const found = this.#above.length > 0 || this.#isPasting ? [] : this.#parts.complete(line);
    this.#choices = found.length > 1 ? found : [];
    return [...found];
  }
}
