/** The composition root, at work: which loops there are, where their sessions are kept, and what their tools are given. Made by `define-rig.ts`. */
import type { BoundLoop } from '../bind/bound-loop.ts';
import type { Clock } from '../clock.ts';
import type { BindingTypes, Captures, Secrets, Workspace } from '../define/bindings.ts';
import type { LoopDefinition } from '../define/loop.ts';
import { modesInWords } from '../define/mode.ts';
import { show, type ToolDefinition } from '../define/tool.ts';
import { SessionError } from '../errors.ts';
import type { SessionEvent } from '../events/events.ts';
import { newId } from '../ids.ts';
import type { JournalEntry, JournalStore } from '../journal/journal.ts';
import { JournalWriter } from '../journal/writer.ts';
import type { Message } from '../model/model.ts';
import { delegateOf, maxDepthOf } from './delegate.ts';
import { delegationOf, type Parentage } from './delegation.ts';
import { type DeleteOptions, deleteFamily } from './deletion.ts';
import type { GateOptions } from './gate-options.ts';
import { SessionState } from './history.ts';
import { type CheckedHistory, checkHistory, type HistoryRepair } from './imported-history.ts';
import { foldJournal, type OpenedState, openedState, type RestoredState } from './restore.ts';
import { Session } from './session.ts';
import { readSessionOptions } from './session-options.ts';
import { folded, type ListOptions, listSummaries, type SessionSummary } from './summary.ts';
import { openWorkspace } from './workspace.ts';

/** Bindings that a program adds by declaration merging, beside those that the rig supplies itself. */
export type ExtraBindings = Partial<Omit<BindingTypes, 'workspace' | 'captures' | 'secrets' | 'delegation'>>;

/** What `defineRig` takes. */
export interface RigOptions<Loops extends readonly LoopDefinition[]> {
  /** The loops that sessions may run; their names must differ. */
  readonly loops: Loops;
  /** Where journals are kept. Default: in memory, for as long as the rig lives. */
  readonly store?: JournalStore;
  /** The folder that tools work in: a path, or a workspace of your own. Default: none, and a tool that needs one is refused. */
  readonly workspace?: string | Workspace;
  /** Who may do what. Default: a call that wants anything is denied. */
  readonly gate?: GateOptions;
  /** Named secrets for the tools that require them. */
  readonly secrets?: Secrets | Readonly<Record<string, string>>;
  /** Bindings of your own. */
  readonly bindings?: ExtraBindings;
  /** Functions that see every event of every session. One that throws is reported as an event and changes nothing else. */
  readonly observers?: readonly ((event: SessionEvent) => void)[];
  /** What to do when a session was opened under a definition that behaves differently: go on with a `session.drift` event, or refuse. Default `continue`. */
  readonly onDrift?: 'continue' | 'refuse';
  /** The clock of all timers. Default: the platform's. */
  readonly clock?: Clock;
}

/** Which session to open. */
export interface OpenOptions<LoopName extends string> {
  /** The loop to run; needed where the rig has several and the session is new. */
  readonly loop?: LoopName;
  /** The session to restore; that of a delegate too. Without it a new one is opened. */
  readonly sessionId?: string;
  /**
   * What to do with a turn that another process left unfinished: `auto` takes it up at once (`session.turn` is its handle), `manual` leaves
   * it to `session.resume()`. Default `manual`.
   */
  readonly resume?: 'auto' | 'manual';
  /** Messages to take over into a new session. They are checked. */
  readonly history?: readonly Message[];
  /** Answer what is unanswered in `history` instead of refusing it. Default false. */
  readonly repair?: boolean;
  /** Told what a repair changed. */
  readonly onRepair?: (repairs: readonly HistoryRepair[]) => void;
  /** Tools beside those of the loop, in every mode, for this session alone. */
  readonly extraTools?: readonly ToolDefinition[];
}

type LoopNames<Loops extends readonly LoopDefinition[]> = Loops[number]['name'];
type LoopNamed<Loops extends readonly LoopDefinition[], Name> = Extract<Loops[number], { readonly name: Name }>;

/** The session of the loop with this name: its mode names, and the type of its answers. */
export type SessionOf<Loops extends readonly LoopDefinition[], Name> =
  LoopNamed<Loops, Name> extends LoopDefinition<string, infer ModeName, infer Output>
    ? Session<ModeName, Output>
    : Session;

/** Opens and lists sessions. */
export interface Rig<Loops extends readonly LoopDefinition[] = readonly LoopDefinition[]> {
  /**
   * Opens a new session, or restores the one of `sessionId`. Throws `SessionError` (`unknown_session`, `unknown_loop`, `drift`),
   * `BindError`, `HistoryError`, `WorkspaceError`, `JournalError`.
   */
  open<const Name extends LoopNames<Loops> = LoopNames<Loops>>(
    options?: OpenOptions<Name>,
  ): Promise<SessionOf<Loops, Name>>;
  /**
   * Binds a loop as a new session would, without opening one: to look at its tools, modes and limits. Nothing is recorded; whoever has it
   * disposes of it. Throws as `open` does.
   */
  bind(loop?: LoopNames<Loops>): Promise<BoundLoop>;
  /**
   * Records a new session without opening it, and gives its id: its tools are built by whoever opens it. Throws `SessionError` `unknown_loop`, `unknown_mode`,
   * and `JournalError`.
   */
  begin(options?: { readonly loop?: LoopNames<Loops>; readonly mode?: string }): Promise<string>;
  /** The loops that its sessions may run. */
  readonly loops: Loops;
  /** Where its sessions are kept. */
  readonly store: JournalStore;
  /** The clock of its timers. */
  readonly clock: Clock;
  /** How long a gate of its sessions waits for an answer, in milliseconds; `Infinity` for ever. */
  readonly gateTimeoutMs: number;
  /**
   * The sessions of the store, the last written first: all, or a page of them. The journal of each that is listed is read for it. Rejects with
   * `JournalError` `invalid_place` for an `after` that is none.
   */
  sessions(options?: ListOptions): Promise<readonly SessionSummary[]>;
  /**
   * Deletes a session for good: its journal, its captures and its mails, and the sessions of its delegates. Refused while one of them is open here, or has a
   * turn that has not ended (`SessionError` `busy`); whoever holds one elsewhere is refused at its next record (`JournalConflictError`). Rejects with
   * `SessionError` `unknown_session` for one that is not there, and with `JournalError`.
   */
  delete(sessionId: string, options?: DeleteOptions): Promise<void>;
}

/** A rig's options, each with its value. */
export interface ResolvedRig {
  readonly loops: ReadonlyMap<string, LoopDefinition>;
  readonly store: JournalStore;
  readonly workspace: string | Workspace | undefined;
  readonly gate: GateOptions | undefined;
  readonly secrets: Secrets | undefined;
  readonly bindings: ExtraBindings;
  readonly observers: readonly ((event: SessionEvent) => void)[];
  readonly onDrift: 'continue' | 'refuse';
  readonly clock: Clock;
}

const OPEN_OPTIONS = ['loop', 'sessionId', 'resume', 'history', 'repair', 'onRepair', 'extraTools'] as const;

/** A rig as it is when its first session is opened. */
export class OpenRig {
  readonly #rig: ResolvedRig;
  /** How often each session is open here. */
  readonly #opened = new Map<string, number>();
  #workspace: Promise<Workspace> | undefined;

  constructor(rig: ResolvedRig) {
    this.#rig = rig;
  }

  async begin(options: { readonly loop?: string; readonly mode?: string } = {}): Promise<string> {
    const { loop: name, mode } = readSessionOptions(options, ['loop', 'mode'], 'begin');
    const { loops, store, clock } = this.#rig;
    const loop = pickLoop(loops, name);
    const known = modesInWords(loop.modes.map(({ name }) => name));
    if (mode !== undefined && !loop.modes.some(({ name }) => name === mode))
      throw new SessionError('unknown_mode', `loop "${loop.name}" has no mode ${show(mode)}: ${known}`);
    const sessionId = newId();
    const writer = new JournalWriter(store, sessionId, 0, clock, () => {});
    await writer.append(openingEntries(loop, newId(), mode ?? loop.initialMode ?? '', undefined, undefined));
    return sessionId;
  }

  async open(options: OpenOptions<string> = {}): Promise<Session> {
    const given = readSessionOptions(options, OPEN_OPTIONS, 'open');
    if (given.sessionId !== undefined) return this.#restore(given.sessionId, given);
    const imported = given.history && checkHistory(given.history, given.repair === true);
    const { extraTools } = given;
    const session = await this.#begin(pickLoop(this.#rig.loops, given.loop), newId(), { extraTools, imported });
    if (imported !== undefined && imported.repairs.length > 0) given.onRepair?.(imported.repairs);
    return session;
  }

  async bind(name?: string): Promise<BoundLoop> {
    const loop = pickLoop(this.#rig.loops, name);
    const ids = { sessionId: newId(), loopId: newId() };
    return this.#bind(loop, { ...ids, extraTools: undefined, depth: 0, children: new Set() });
  }

  /** Opens a new session. */
  async #begin(loop: LoopDefinition, sessionId: string, { extraTools, imported, parent }: Beginning): Promise<Session> {
    const children = new Set<Session>();
    const depth = parent?.depth ?? 0;
    const bound = await this.#bind(loop, { sessionId, loopId: newId(), extraTools, depth, children });
    const state = new SessionState();
    const lastSeq = await this.#write(
      bound,
      state,
      0,
      openingEntries(loop, bound.loopId, bound.initialMode.name, imported, parent),
    );
    return this.#session(bound, { state, lastSeq, ran: [] }, children);
  }

  /** The child session of a call: a new one, or the one that it had. */
  async #openChild(loop: LoopDefinition, sessionId: string, parent: Parentage): Promise<Session> {
    const { store } = this.#rig;
    if ((await store.find(sessionId)) === undefined) return this.#begin(loop, sessionId, { parent });
    return this.#take(loop, sessionId, await foldJournal(store, sessionId), undefined);
  }

  async sessions(options: ListOptions = {}): Promise<SessionSummary[]> {
    const { store } = this.#rig;
    const given = readSessionOptions(options, ['delegates', 'limit', 'after'], 'sessions');
    return listSummaries(store, given, ({ sessionId }) => folded(store, sessionId));
  }

  async delete(sessionId: string, options: DeleteOptions = {}): Promise<void> {
    const given = readSessionOptions(options, ['unfinished'], 'delete');
    await deleteFamily({ store: this.#rig.store, isOpen: id => this.#opened.has(id) }, sessionId, given);
  }

  async #restore(sessionId: string, options: OpenOptions<string>): Promise<Session> {
    const { store } = this.#rig;
    if (options.history !== undefined) throw invalid('"history" is for a new session: leave out "sessionId"');
    if ((await store.find(sessionId)) === undefined) {
      throw new SessionError('unknown_session', `there is no session ${show(sessionId)} in this store`);
    }
    const restored = await foldJournal(store, sessionId);
    const { state } = restored;
    if (options.loop !== undefined && options.loop !== state.loop) {
      throw new SessionError(
        'unknown_loop',
        `session ${sessionId} runs the loop "${state.loop}", not "${options.loop}"`,
      );
    }
    const session = await this.#take(await this.#loopOf(state), sessionId, restored, options.extraTools);
    if (options.resume === 'auto' && session.unfinished !== undefined) session.resume();
    return session;
  }

  /** The loop of a session: a delegate's is found with the loop that delegates, whose rig need not list it. */
  async #loopOf({ loop, policyRevision, parent }: OpenedState): Promise<LoopDefinition> {
    const { loops, store } = this.#rig;
    const opened = parent === undefined ? undefined : await openedState(store, parent.sessionId);
    const caller = opened === undefined ? undefined : await this.#loopOf(opened);
    return (caller && delegateOf(caller, loop, policyRevision)) ?? pickLoop(loops, loop);
  }

  /** A session as its journal has it, under a definition that may have changed. */
  async #take(
    loop: LoopDefinition,
    sessionId: string,
    restored: RestoredState,
    extraTools: readonly ToolDefinition[] | undefined,
  ): Promise<Session> {
    const { policyRevision, loopId, parent } = restored.state;
    const hasDrifted = policyRevision !== loop.policyRevision;
    if (hasDrifted && this.#rig.onDrift === 'refuse') {
      throw new SessionError(
        'drift',
        `loop "${loop.name}" behaves differently from when session ${sessionId} was opened`,
      );
    }
    const children = new Set<Session>();
    const bound = await this.#bind(loop, { sessionId, loopId, extraTools, depth: parent?.depth ?? 0, children });
    const session = this.#session(bound, restored, children);
    if (hasDrifted) session.noteDrift(policyRevision, loop.policyRevision);
    return session;
  }

  /** Writes records before the session has a writer of its own, and gives the number of the last; if that fails, nothing is left behind. */
  async #write(
    bound: BoundLoop,
    state: SessionState,
    lastSeq: number,
    entries: readonly JournalEntry[],
  ): Promise<number> {
    const { store, clock } = this.#rig;
    const writer = new JournalWriter(store, bound.sessionId, lastSeq, clock, record => state.apply(record));
    try {
      await writer.append(entries);
    } catch (error) {
      await bound[Symbol.asyncDispose]();
      throw error;
    }
    return writer.lastSeq;
  }

  #session(bound: BoundLoop, restored: RestoredState, children: ReadonlySet<Session>): Session {
    const { store, clock, gate, observers } = this.#rig;
    const { sessionId } = bound;
    this.#opened.set(sessionId, (this.#opened.get(sessionId) ?? 0) + 1);
    const ended = (): void => {
      const left = (this.#opened.get(sessionId) ?? 1) - 1;
      if (left > 0) this.#opened.set(sessionId, left);
      else this.#opened.delete(sessionId);
    };
    return new Session({ bound, restored, store, clock, gate, observers, children, ended });
  }

  async #bind(loop: LoopDefinition, { sessionId, loopId, extraTools, depth, children }: Binding): Promise<BoundLoop> {
    const { store, secrets, bindings, clock } = this.#rig;
    const captures: Captures = {
      put: bytes => store.putCapture(sessionId, bytes),
      get: id => store.getCapture(sessionId, id),
    };
    const delegation = delegationOf({
      ...{ store, sessionId, depth, children },
      openChild: (child, id, parent) => this.#openChild(child, id, parent),
    });
    const workspace = await this.#openWorkspace();
    const given = {
      ...bindings,
      sessionId,
      loopId,
      captures,
      delegation,
      omitTools: loop.tools().filter(tool => maxDepthOf(tool) <= depth),
      ...(workspace === undefined ? {} : { workspace }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(extraTools === undefined ? {} : { extraTools }),
    };
    return loop.bind(given, { clock });
  }

  /** Opened once for all sessions of the rig; tried again if it failed. */
  #openWorkspace(): Promise<Workspace | undefined> {
    const { workspace } = this.#rig;
    if (typeof workspace !== 'string') return Promise.resolve(workspace);
    this.#workspace ??= openWorkspace(workspace).catch(error => {
      this.#workspace = undefined;
      throw error;
    });
    return this.#workspace;
  }
}

/** What a new session begins with. */
interface Beginning {
  readonly extraTools?: readonly ToolDefinition[] | undefined;
  readonly imported?: CheckedHistory | undefined;
  readonly parent?: Parentage;
}

/** What a loop is bound for. */
interface Binding {
  readonly sessionId: string;
  readonly loopId: string;
  readonly extraTools: readonly ToolDefinition[] | undefined;
  readonly depth: number;
  readonly children: Set<Session>;
}

function openingEntries(
  loop: LoopDefinition,
  loopId: string,
  mode: string,
  imported: CheckedHistory | undefined,
  parent: Parentage | undefined,
): JournalEntry[] {
  const opened: JournalEntry = {
    type: 'session.opened',
    loop: loop.name,
    loopId,
    policyRevision: loop.policyRevision,
    mode,
    ...(parent === undefined ? {} : { parent }),
  };
  return imported === undefined ? [opened] : [opened, { type: 'history.imported', messages: imported.messages }];
}

function pickLoop(loops: ReadonlyMap<string, LoopDefinition>, name: string | undefined): LoopDefinition {
  const names = [...loops.keys()].map(known => `"${known}"`).join(', ');
  if (name === undefined) {
    const [only, second] = loops.values();
    if (only !== undefined && second === undefined) return only;
    throw new SessionError('unknown_loop', `this rig has several loops: say which with "loop" (${names})`);
  }
  const loop = loops.get(name);
  if (loop === undefined) throw new SessionError('unknown_loop', `this rig has no loop "${name}": it has ${names}`);
  return loop;
}

function invalid(message: string): SessionError<'invalid_option'> {
  return new SessionError('invalid_option', message);
}
