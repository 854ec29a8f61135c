/** What shows a run: told what happens, it decides what of it is seen and where. */
import type { PendingGate, TurnEvent, TurnResult } from '../index.ts';

/** What is known before the turn begins. */
export interface RunHeader {
  /** The model, in words; `undefined` for a turn that is shown below another. */
  readonly model: string | undefined;
  /** The folder that tools work in; `undefined` where they need none. */
  readonly workspace: string | undefined;
  readonly mode: string;
  readonly prompt: string;
  /** How often a request to the model is made at the most. */
  readonly tries: number;
  /** The session that the turn is one more of, in words. */
  readonly session?: string;
}

/** How the run ended, judged. */
export interface RunEnd {
  /** `undefined` for a turn that is left waiting for a person. */
  readonly result: TurnResult | undefined;
  readonly exitStatus: number;
  /** The outcome in a few words. */
  readonly word: string;
  /** One sentence that says why it is no plain success and what to do; `undefined` for one that is. */
  readonly reason: string | undefined;
  /** How to go on: a command, whole. */
  readonly next?: string;
  /** The session, if it is kept. */
  readonly sessionId?: string;
  /** What a turn that is left waiting waits for. */
  readonly gates?: readonly PendingGate[];
}

/** One way of showing a run. `start` comes first, `end` or `abandon` last. */
export interface View {
  start(header: RunHeader): void;
  event(event: TurnEvent): void;
  /** A line about the program itself, not about the turn. */
  notice(text: string): void;
  /** Shows a question and what is asked last, and draws nothing more until it is answered. Lines are safe to show. */
  ask(lines: readonly string[], prompt: string): void;
  /** The person has answered, and ended the line by that. */
  answered(): void;
  end(end: RunEnd): void;
  /** The program quits at once: leave the terminal as it was. */
  abandon(): void;
}

/** Where a view writes, whole lines or pieces of them. */
export interface ViewOutput {
  /** Standard output: the answer. */
  answer(text: string): void;
  /** Standard error: everything else. */
  progress(text: string): void;
}
