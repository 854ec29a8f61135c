/**
 * A conversation: what is said becomes a turn, or steers the one that runs. Turns are followed one after the other, as the session runs them. It
 * ends when the person quits, when nothing more is said, or when the session cannot go on.
 */
import { DefinitionError, JournalConflictError, JournalError, SessionError, type Turn } from '../../index.ts';
import type { CommandEnd } from '../command.ts';
import { EXIT } from '../conclude.ts';
import { leaveWaiting } from '../follow-turn.ts';
import { oneLine } from '../safe-text.ts';
import { type CutShort, leftInWords } from '../trail.ts';
import { UsageError } from '../usage-error.ts';
import type { RunEnd, View } from '../view.ts';
import { CommandDesk } from './command-desk.ts';
import { COMMAND_LIST, readChatLine } from './commands.ts';
import type { ChatListener, WaitingText } from './front.ts';
import { type ChatParts, type FollowedTurn, TurnWatch, type WatchedEnd } from './turn-watch.ts';

/** What another process left: a turn that was cut short, or (`undefined`) an input that waited. */
export interface UnfinishedTurn {
  readonly cutShort: CutShort | undefined;
  /** The number of its last event. */
  readonly lastEventSeq: number;
}

/** How a conversation ended. `turnEnds`: the turn that runs is interrupted and followed to its end first. */
type ChatEnd =
  | { readonly kind: 'quit'; readonly exitStatus: number; readonly turnEnds: boolean }
  | { readonly kind: 'left'; readonly view: View };

/** Something said that waits, and the turn that it is for. */
interface Waiting extends WaitingText {
  readonly turnId: string | undefined;
}

export class Chat implements ChatListener {
  readonly #parts: ChatParts;
  readonly #desk: CommandDesk;
  readonly #over = Promise.withResolvers<ChatEnd>();
  readonly #turns: FollowedTurn[] = [];
  readonly #seen = new Set<string>();
  #waiting: readonly Waiting[] = [];
  /** Follows turns until there is none; `undefined` between turns. */
  #following: Promise<void> | undefined;
  #current: TurnWatch | undefined;
  /** Ctrl-C was pressed where nothing was to be interrupted. */
  #isWarned = false;
  #exitStatus: number = EXIT.done;
  #isLeftRunning = false;
  #hasQuit = false;
  #isQuitting = false;

  constructor(parts: ChatParts) {
    this.#parts = parts;
    this.#desk = new CommandDesk(parts);
  }

  /** Has the conversation; what is unfinished is offered first. */
  async run(unfinished?: UnfinishedTurn): Promise<CommandEnd> {
    const { host, front } = this.#parts;
    const stopped = (): void => this.#quit(EXIT.interrupted);
    host.stop.addEventListener('abort', stopped, { once: true });
    if (host.stop.aborted) stopped();
    front.listen(this);
    this.#show();
    try {
      if (unfinished !== undefined) void this.#offer(unfinished).catch(error => this.#over.reject(error));
      return await this.#end(await this.#over.promise);
    } finally {
      host.stop.removeEventListener('abort', stopped);
    }
  }

  async said(text: string): Promise<void> {
    if (this.#hasQuit) return; // a script may have more lines
    this.#isWarned = false;
    try {
      await this.#take(text);
    } catch (error) {
      const isRefused = error instanceof UsageError || SessionError.is(error) || DefinitionError.is(error);
      if (!isRefused) this.#over.reject(error);
      else {
        this.#exitStatus = EXIT.usage;
        this.#parts.front.say(`looprig: ${error.message}`, 'yellow');
      }
    }
    this.#show();
    await this.#following;
  }

  interrupted(): void {
    const { front } = this.#parts;
    const isRunning = this.#current !== undefined;
    if (this.#current?.interrupt() === true) return;
    if (isRunning || this.#isWarned) {
      this.#over.resolve({ kind: 'quit', exitStatus: EXIT.interrupted, turnEnds: false });
    } else if (!front.clearLine()) {
      this.#isWarned = true;
      front.hint('Ctrl-C again quits');
      this.#show();
    }
  }

  ended(): void {
    this.#quit(this.#parts.front.isScript ? this.#exitStatus : EXIT.done);
  }

  /** Asks whether what is unfinished is to be taken up. Where it is not, the next turn ends it. */
  async #offer({ cutShort, lastEventSeq }: UnfinishedTurn): Promise<void> {
    const { work, secrets, front, host } = this.#parts;
    const what =
      cutShort === undefined ? 'an input waits for its turn' : `a turn is unfinished: ${leftInWords(cutShort)}`;
    const said = cutShort === undefined ? [] : [`› ${oneLine(cutShort.prompt, secrets)}`];
    front.ask([...said, what], 'take it up? y, n › ');
    const answer = await front.answer(host.stop);
    if (answer === undefined) this.ended();
    else if (/^\s*y(?:es)?\s*$/i.test(answer)) this.#follow(work.session.resume(), { pastSeq: lastEventSeq });
    else front.say('it ends with the next turn; what it had done is part of the conversation');
    this.#show();
  }

  #quit(exitStatus: number): void {
    this.#hasQuit = true;
    this.#over.resolve({ kind: 'quit', exitStatus, turnEnds: true });
  }

  async #take(said: string): Promise<void> {
    const line = readChatLine(said);
    switch (line.kind) {
      case 'unknown':
        throw new UsageError(`there is no command /${line.name}: there are ${COMMAND_LIST}`);
      case 'text':
        if (line.text !== '') await this.#say(line.text);
        break;
      case 'command':
        if (line.name === 'quit') this.ended();
        else if (line.name === 'continue') this.#continue();
        else if (line.name === 'queue') this.#queue(line.rest);
        else await this.#desk.carryOut(line.name, line.rest);
        break;
    }
  }

  /** To the turn that runs, or as a turn of its own. */
  async #say(text: string): Promise<void> {
    const { session } = this.#parts.work;
    if (!session.isRunning) {
      this.#submit(text);
      return;
    }
    const waiting: Waiting = { text, steers: true, turnId: undefined };
    this.#waiting = [...this.#waiting, waiting];
    this.#show();
    const steered = await session.steer(text, { limits: this.#desk.limits });
    this.#waiting = this.#waiting.filter(other => other !== waiting);
    if (steered.kind === 'submitted') this.#follow(steered.turn, { prompt: text });
  }

  #queue(text: string): void {
    if (text === '') throw new UsageError('/queue needs the text of the turn that is to follow');
    this.#submit(text);
  }

  #submit(text: string): void {
    const turn = this.#parts.work.session.submit(text, { limits: this.#desk.limits });
    this.#follow(turn, { prompt: text });
  }

  #continue(): void {
    const { session } = this.#parts.work;
    this.#follow(session.continue({ limits: this.#desk.limits }), { prompt: '/continue' });
  }

  #follow(turn: Turn, { prompt, pastSeq = 0 }: { readonly prompt?: string; readonly pastSeq?: number }): void {
    if (this.#seen.has(turn.id)) return; // the session had begun it before this was known
    this.#turns.push({ turn, prompt, pastSeq });
    if (this.#following !== undefined && prompt !== undefined) {
      this.#waiting = [...this.#waiting, { text: prompt, steers: false, turnId: turn.id }];
    }
    this.#following ??= this.#followAll().catch(error => this.#over.reject(error));
  }

  async #followAll(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#seen.add(next.turn.id);
      this.#waiting = this.#waiting.filter(({ turnId }) => turnId !== next?.turn.id);
      await this.#watch(next);
    }
    this.#following = undefined;
    this.#show();
  }

  /** The turn to follow now. One that the session began by itself had waited since another process received it. */
  #next(): FollowedTurn | undefined {
    const { turn } = this.#parts.work.session;
    const isKnown =
      turn === undefined || this.#seen.has(turn.id) || this.#turns.some(other => other.turn.id === turn.id);
    return isKnown ? this.#turns.shift() : { turn, prompt: undefined, pastSeq: 0 };
  }

  /** Shows one turn from its beginning to its end. */
  async #watch(followed: FollowedTurn): Promise<void> {
    const watch: TurnWatch = new TurnWatch(this.#parts, followed, {
      begun: () => this.#show(),
      steered: text => this.#steered(text),
      left: view => this.#over.resolve({ kind: 'left', view }),
      failed: error => this.#over.reject(error),
    });
    this.#current = watch;
    const end = await watch.toEnd();
    this.#current = undefined;
    if (end === undefined) return;
    const { kept } = this.#parts.work;
    watch.view.end({ ...this.#inChat(end), ...(kept && { sessionId: kept.sessionId }) });
    const { result, exitStatus } = end;
    this.#isLeftRunning ||= 'leftBehind' in result && result.leftBehind.length > 0;
    if (exitStatus !== EXIT.done) this.#exitStatus = exitStatus;
    // Nothing more can be recorded then.
    if (result.status === 'failed' && JournalConflictError.is(result.error)) this.#quit(EXIT.inUse);
    else if (result.status === 'failed' && JournalError.is(result.error)) this.#quit(EXIT.failed);
  }

  /** The model is told: so it stands in the conversation, here. */
  #steered(text: string): void {
    const place = this.#waiting.findIndex(waiting => waiting.steers && waiting.text === text);
    if (place !== -1) this.#waiting = this.#waiting.toSpliced(place, 1);
    this.#parts.front.steered(text);
    this.#show();
  }

  #show(): void {
    const { front, work } = this.#parts;
    const { mode } = work.session;
    const isRunning = this.#following !== undefined;
    front.show({ mode: mode === 'base' ? '' : mode, isRunning, waiting: this.#waiting });
  }

  /** The end of a turn in words of a conversation: what can be done about it is a command of it. */
  #inChat(end: WatchedEnd): RunEnd {
    if (this.#isQuitting) return end;
    const isOpen = end.result.status === 'failed' || end.result.status === 'interrupted';
    return { ...end, reason: end.reason?.replace('--limits ', '/limits '), ...(isOpen && { next: '/continue' }) };
  }

  async #end(end: ChatEnd): Promise<CommandEnd> {
    this.#isQuitting = true;
    const { work, secrets, front } = this.#parts;
    if (end.kind === 'left') {
      front.close();
      return leaveWaiting(work, end.view, secrets);
    }
    if (!end.turnEnds) {
      this.#current?.view.abandon();
      front.close();
      work.leave();
      return { exitStatus: end.exitStatus, isLeftRunning: true };
    }
    const isCut = this.#current !== undefined;
    const closed = work.session.close();
    await this.#following;
    front.close();
    await closed;
    const exitStatus = isCut && end.exitStatus === EXIT.done ? EXIT.interrupted : end.exitStatus;
    return { exitStatus, isLeftRunning: this.#isLeftRunning };
  }
}
