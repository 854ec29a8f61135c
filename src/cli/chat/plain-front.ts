/**
 * A conversation line by line, without keys or colours: with a script one turn a line, one after the other; with a person in a plain terminal the
 * next line may come while a turn runs.
 */
import { createInterface, type Interface } from 'node:readline';
import type { Host } from '../host.ts';
import type { ChatOptions } from '../options.ts';
import { oneLine } from '../safe-text.ts';
import type { SecretFilter } from '../secrets.ts';
import type { Look } from '../style.ts';
import type { View } from '../view.ts';
import { canAsk, createView } from '../views.ts';
import type { ChatFront, ChatListener, ChatState } from './front.ts';

const PROMPT = '› ';

export class PlainFront implements ChatFront {
  readonly isScript: boolean;
  readonly #options: ChatOptions;
  readonly #host: Host;
  readonly #secrets: SecretFilter;
  #view: View | undefined;
  #lines: Interface | undefined;
  #unread: string[] = [];
  /** Earlier lines of one that goes on. */
  #begun: string[] = [];
  #isReading = false;
  #isEnded = false;
  #isPrompted = false;
  #isRunning = false;
  #prompt = '';
  #asked: PromiseWithResolvers<string | undefined> | undefined;

  constructor(options: ChatOptions, host: Host, secrets: SecretFilter) {
    this.#options = options;
    this.#host = host;
    this.#secrets = secrets;
    this.isScript = !canAsk(options, host);
  }

  listen(listener: ChatListener): void {
    if (!this.isScript) this.#host.takeInterrupts?.(() => this.#interrupted(listener));
    const lines = createInterface({ input: this.#host.stdin, terminal: false, crlfDelay: Number.POSITIVE_INFINITY });
    this.#lines = lines;
    lines.on('line', line => {
      this.#isPrompted = false;
      if (this.#asked !== undefined) this.#asked.resolve(line);
      else {
        this.#unread.push(line);
        void this.#read(listener);
      }
    });
    lines.on('close', () => {
      this.#isEnded = true;
      this.#asked?.resolve(undefined);
      void this.#read(listener);
    });
  }

  turnView(): View {
    this.#view = createView(this.#options, this.#host, this.#secrets);
    return this.#view;
  }

  steered(text: string): void {
    this.#view?.notice(`› ${text}`);
  }

  show({ isRunning }: ChatState): void {
    this.#isRunning = isRunning;
    if (isRunning || this.isScript || this.#isPrompted || this.#asked !== undefined) return;
    this.#isPrompted = true;
    this.#host.stderr.write(PROMPT);
  }

  /** What went wrong is said to whoever wants it quiet, too. */
  say(text: string, look?: Look): void {
    if (!this.#options.quiet || look === 'yellow') this.print(`${oneLine(text, this.#secrets)}\n`);
  }

  print(text: string): void {
    if (this.#isPrompted) this.#host.stderr.write('\n');
    this.#isPrompted = false;
    this.#host.stderr.write(text);
  }

  hint(text: string): void {
    this.say(text);
  }

  ask(lines: readonly string[], prompt: string): void {
    if (this.#view !== undefined && this.#isRunning) this.#view.ask(lines, '');
    else this.print(lines.map(line => `${line}\n`).join(''));
    this.#prompt = prompt;
  }

  async answer(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted || this.#isEnded) return undefined;
    const asked = Promise.withResolvers<string | undefined>();
    const over = (): void => asked.resolve(undefined);
    stop.addEventListener('abort', over, { once: true });
    this.#asked = asked;
    this.#host.stderr.write(this.#prompt);
    try {
      return await asked.promise;
    } finally {
      stop.removeEventListener('abort', over);
      this.#asked = undefined;
      if (this.#isRunning) this.#view?.answered();
    }
  }

  prefill(): boolean {
    return false;
  }

  clearLine(): boolean {
    return false;
  }

  clearScreen(): void {}

  close(): void {
    this.#host.takeInterrupts?.(undefined);
    this.#lines?.close();
    this.#host.stdin.pause();
  }

  /** The terminal has dropped what was typed, and shows `^C` where it stood. */
  #interrupted(listener: ChatListener): void {
    this.#begun = [];
    this.#host.stderr.write('\n');
    this.#isPrompted = false;
    listener.interrupted();
  }

  /** Hands lines on: to a script's turn only when the one before is over. */
  async #read(listener: ChatListener): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    for (let line = this.#unread.shift(); line !== undefined; line = this.#unread.shift()) {
      const goesOn = /(?<!\\)(?:\\\\)*\\$/.test(line);
      this.#begun.push(goesOn ? line.slice(0, -1) : line);
      if (goesOn && (this.#unread.length > 0 || !this.#isEnded)) continue;
      const said = listener.said(this.#begun.join('\n'));
      this.#begun = [];
      if (!this.isScript) continue;
      if (!this.#isEnded) this.#lines?.pause(); // a long file is not read faster than it is worked off
      await said;
      if (!this.#isEnded) this.#lines?.resume();
    }
    this.#isReading = false;
    if (!this.#isEnded) return;
    if (this.#begun.length > 0) await listener.said(this.#begun.splice(0).join('\n'));
    listener.ended();
  }
}
