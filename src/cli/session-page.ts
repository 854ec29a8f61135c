/** A session written down: what it is, its turns as they looked when they ran, and what is left to do. */
import { isTerminal, type JournalRecord, type TurnEvent } from '../index.ts';
import { ageText } from '../report/model/format.ts';
import { EXIT } from './conclude.ts';
import { gateLine } from './gate-text.ts';
import { SEPARATOR } from './gauges.ts';
import type { Host } from './host.ts';
import { shortened } from './model-failure.ts';
import { packParts } from './rows.ts';
import { MOST_TRIES } from './run-loop.ts';
import type { RunSettings } from './run-settings.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { shortId } from './session-ids.ts';
import { stateWord } from './session-table.ts';
import type { ListedSession } from './stored-session.ts';
import { createPainter, type Look, type Painter } from './style.ts';
import { leftInWords, type Trail, textOf } from './trail.ts';
import type { RunEnd, View } from './view.ts';
import { columnsOf, createPastView, isColoured } from './views.ts';

type TurnEnd = Extract<TurnEvent, { readonly iterations: number }>;

export class SessionPage {
  readonly #host: Host;
  readonly #secrets: SecretFilter;
  readonly #paint: Painter;
  /** The turn that is being written. */
  #view: View | undefined;

  constructor(host: Host, secrets: SecretFilter) {
    this.#host = host;
    this.#secrets = secrets;
    this.#paint = createPainter(isColoured(host));
  }

  /** What the session is. */
  head(session: ListedSession, { loop, model, workspace }: Partial<RunSettings>): void {
    const { sessionId, state, turns, calls, updatedAt } = session;
    const age = ageText(this.#host.clock.now() - updatedAt);
    const counts = [counted(turns, 'turn'), counted(calls, 'call')];
    const facts = [stateWord(state), ...counts, age === 'now' ? 'now' : `${age} ago`];
    const where = [loop, model, workspace].filter(fact => fact !== undefined);
    this.#line([`session ${sessionId}`, ...facts, ...where], 'dim');
  }

  /** The next event of a turn. */
  event(event: TurnEvent): void {
    if (event.type === 'turn.started') {
      this.#view?.abandon();
      this.#begin(textOf(event.input), event.mode);
    }
    this.#view?.event(event);
    if (isTerminal(event)) {
      this.#view?.end(endOf(event));
      this.#view = undefined;
    }
  }

  /** What is no event of a turn, and is part of the conversation all the same. */
  record(record: JournalRecord, inputs: ReadonlyMap<string, string>): void {
    if (record.type === 'history.imported') {
      this.#line([`${counted(record.messages.length, 'message')} taken over from elsewhere`], 'dim');
    }
    if (record.type === 'input.steered') this.#view?.notice(`› ${inputs.get(record.inputId) ?? ''}`);
  }

  /** Nothing more comes of a turn that has not ended. */
  leave(): void {
    this.#view?.abandon();
    this.#view = undefined;
  }

  /** What is left to do. */
  foot(
    { state }: ListedSession,
    { cutShort: left, gates }: Trail,
    { shown, storeArgument: store }: { readonly shown: string; readonly storeArgument: string },
  ): void {
    this.leave();
    const { stdout } = this.#host;
    stdout.write('\n');
    if (left === undefined) {
      if (state !== 'damaged') this.#line([`to go on: looprig run --session ${shown}${store} "…"`], 'dim');
      return;
    }
    if (state === 'running') {
      this.#line(['another process works on it'], 'cyan');
      return;
    }
    this.#line([`unfinished: ${leftInWords(left)}`], 'yellow');
    const ids = gates.map(({ gateId }) => gateId);
    for (const gate of gates) {
      this.#line([`gate ${shortId(gate.gateId, ids)}: ${gateLine(gate, this.#secrets)}`], 'yellow');
    }
    const which = gates.length > 1 ? ' GATE' : '';
    if (gates.length > 0) this.#line([`to answer: looprig answer ${shown}${which} yes${store} (or no)`], 'dim');
    this.#line([`to go on: looprig resume ${shown}${store}`], 'dim');
  }

  #begin(prompt: string, mode: string): void {
    this.#host.stdout.write('\n');
    this.#view = createPastView(this.#host, this.#secrets);
    const shownMode = mode === 'base' ? '' : mode;
    this.#view.start({ model: undefined, workspace: undefined, mode: shownMode, prompt, tries: MOST_TRIES });
  }

  /** Parts of one line, broken between them where the window is too narrow. */
  #line(parts: readonly string[], look: Look): void {
    const { stdout } = this.#host;
    const safe = parts.map(part => oneLine(part, this.#secrets));
    const width = stdout.isTTY === true ? columnsOf(stdout) - 1 : Number.POSITIVE_INFINITY;
    for (const row of packParts(safe, SEPARATOR, width)) stdout.write(`${this.#paint(look, row)}\n`);
  }
}

/** How a turn ended, from its last event. */
function endOf(event: TurnEnd): RunEnd {
  const end = { result: undefined, reason: undefined };
  switch (event.type) {
    case 'turn.done':
      if (event.limited !== undefined) return { ...end, exitStatus: EXIT.limit, word: 'answered at a limit' };
      return { ...end, exitStatus: EXIT.done, word: 'done' };
    case 'turn.failed': {
      const isLimit = event.error.limit !== undefined;
      const word = isLimit ? 'failed at a limit' : 'failed';
      return { ...end, exitStatus: isLimit ? EXIT.limit : EXIT.failed, word, reason: shortened(event.error.message) };
    }
    case 'turn.interrupted':
      return { ...end, exitStatus: EXIT.interrupted, word: `interrupted${why(event.reason)}` };
  }
}

function why(reason: string | undefined): string {
  return reason === undefined || /^SIG[A-Z]+$/.test(reason) ? '' : `: ${reason}`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
