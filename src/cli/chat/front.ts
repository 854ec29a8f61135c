/** Between a conversation and the person (or the file) that it is had with. */
import type { Look } from '../style.ts';
import type { View } from '../view.ts';

/** Something that was said and waits: to be told to the running turn (`steers`), or for a turn of its own. */
export interface WaitingText {
  readonly text: string;
  readonly steers: boolean;
}

/** What a front may show of the conversation between its turns. */
export interface ChatState {
  /** Empty for the base mode. */
  readonly mode: string;
  readonly isRunning: boolean;
  readonly waiting: readonly WaitingText[];
}

/** Who is told what the person says. */
export interface ChatListener {
  /** A line, or several at once. Settles when what came of it is done. */
  said(text: string): Promise<void>;
  /** Ctrl-C. */
  interrupted(): void;
  /** Nothing more will be said. */
  ended(): void;
}

/** Where a conversation is seen and had. */
export interface ChatFront {
  /** Whether a script talks, which wants to know how its turns ended. */
  readonly isScript: boolean;
  /** Begins to listen. */
  listen(listener: ChatListener): void;
  /** The view for the next turn. */
  turnView(): View;
  /** The model is told now what was said to its turn. */
  steered(text: string): void;
  /** What is to be seen now. */
  show(state: ChatState): void;
  /** A line about the conversation. */
  say(text: string, look?: Look): void;
  /** Text that is ready to be shown, in whole lines. */
  print(text: string): void;
  /** Words that help at this moment, and are gone at the next key. */
  hint(text: string): void;
  /** Shows a question, and what the answer is asked with. Lines are safe to show. */
  ask(lines: readonly string[], prompt: string): void;
  /** The next line, as an answer; `undefined` where none comes any more, or `stop` is aborted. */
  answer(stop: AbortSignal): Promise<string | undefined>;
  /** Begins the answer with `text`, where that can be edited; gives whether it can. */
  prefill(text: string): boolean;
  /** Empties the line that is written; gives whether there was anything in it. */
  clearLine(): boolean;
  /** Empties the screen. */
  clearScreen(): void;
  /** Leaves the terminal as it was. */
  close(): void;
}
