/** Opens a session to work on it: a new one, or one of the store, with the folder and the model that it had. */
import { resolve } from 'node:path';
import {
  defineRig,
  type GateOptions,
  type JournalStore,
  memoryStore,
  type Session,
  SessionError,
  type StoredSession,
  WorkspaceError,
} from '../index.ts';
import type { Host } from './host.ts';
import { serverTools } from './mcp-servers.ts';
import { type ChosenModel, chooseModel } from './models.ts';
import { type Approval, NO_TURN_OPTIONS, type RunOptions, type TurnOptions } from './options.ts';
import { defineRunLoop } from './run-loop.ts';
import { keepSettings, type RunSettings, readSettings, settle } from './run-settings.ts';
import { findSession, shortId } from './session-ids.ts';
import { lockSession, type SessionLock } from './session-lock.ts';
import { findStore, type OpenStore, openStore } from './store-place.ts';
import { UsageError } from './usage-error.ts';
import { canAsk, isWatched } from './views.ts';

/** Where a session is kept, and what it is called there. */
interface Kept {
  readonly sessionId: string;
  /** Its id as people type it. */
  readonly shown: string;
  /** What a command has to be given to find the store again; empty, or an option with a space before it. */
  readonly storeArgument: string;
}

/** A session under work. */
export interface OpenSession {
  readonly session: Session;
  readonly store: JournalStore;
  readonly chosen: ChosenModel;
  readonly settings: RunSettings;
  readonly approval: Approval;
  /** `undefined` for a session that ends with the process. */
  readonly kept: Kept | undefined;
  /** Ends the work: a turn that runs is interrupted. */
  close(): Promise<void>;
  /** Lets go of the session as it is: a turn that waits can be taken up by another process. */
  leave(): Promise<void>;
}

/** A session of a store, found by what was typed. */
interface FoundSession extends OpenStore {
  readonly stored: StoredSession;
  /** Its id as people type it, and what finds its store again. */
  readonly shown: string;
  readonly storeArgument: string;
}

/** The session of the store that `given` means. Throws `UsageError` where there is none, or several. */
export async function findStored(
  given: string,
  options: Pick<TurnOptions, 'store'>,
  { env }: Pick<Host, 'env'>,
): Promise<FoundSession> {
  const found = await findStore(options, env);
  const sessions = (await found?.store.list()) ?? [];
  const stored = findSession(given, sessions);
  const ids = sessions.map(({ sessionId }) => sessionId);
  return { ...found!, stored, shown: shortId(stored.sessionId, ids), storeArgument: storeArgument(options) };
}

/** Chooses the model and opens a new session. Throws `UsageError` for what cannot be done as asked. */
export async function openNew(options: RunOptions, host: Host): Promise<OpenSession> {
  const settings = settle(options, {});
  const chosen = await chosenModel(settings, options, host);
  if (options.prompt === undefined && chosen.defaultPrompt === undefined) throw noPrompt();
  const approval = approvalOf(options, settings, host);
  const opened = options.noStore ? undefined : await openStore(options, host.env);
  const store = opened?.store ?? memoryStore();
  const session = await openRig({ chosen, options, settings, approval, store, host });
  if (opened === undefined) return new Work({ session, store, chosen, settings, approval, kept: undefined }, undefined);
  const shown = shortId(session.id, []);
  const lock = await lockSession(opened.place, session.id, shown);
  await keepSettings(opened.place, session.id, settings);
  const kept = { sessionId: session.id, shown, storeArgument: storeArgument(options) };
  return new Work({ session, store, chosen, settings, approval, kept }, lock);
}

/** Opens a session of the store for a turn of this process alone. Throws `UsageError`, and `SessionInUseError`. */
export async function openStored(given: string, options: TurnOptions, host: Host): Promise<OpenSession> {
  const found = await findStored(given, options, host);
  const settings = settle(options, await readSettings(found.place, found.stored.sessionId));
  const chosen = await chosenModel(settings, options, host);
  const approval = approvalOf(options, settings, host);
  const work = await openFound(found, { chosen, options, settings, approval, host });
  await keepSettings(found.place, found.stored.sessionId, settings);
  return work;
}

/** Opens a session of the store to answer its gates: no turn can run in it. Throws `UsageError`, and `SessionInUseError`. */
export async function openToAnswer(
  given: string,
  { store }: Pick<TurnOptions, 'store'>,
  host: Host,
): Promise<OpenSession> {
  const options = { ...NO_TURN_OPTIONS, store };
  const found = await findStored(given, options, host);
  const kept = await readSettings(found.place, found.stored.sessionId);
  const chosen = await chooseModel('demo', host.env, false);
  const settings = { ...settle(options, { ...kept, model: 'demo' }), mcp: [] }; // nothing is called here
  return openFound(found, { chosen, options, settings, approval: 'ask', host });
}

async function openFound(
  { store, place, stored: { sessionId }, shown, storeArgument }: FoundSession,
  parts: Omit<RigParts, 'store' | 'sessionId' | 'shown'>,
): Promise<OpenSession> {
  const lock = await lockSession(place, sessionId, shown);
  try {
    const session = await openRig({ ...parts, store, sessionId, shown });
    return new Work({ session, store, ...parts, kept: { sessionId, shown, storeArgument } }, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** What is said where nothing is asked of a model. */
export function noPrompt(): UsageError {
  return new UsageError('there is no prompt: say what is to be done, in quotes');
}

async function chosenModel(settings: RunSettings, options: TurnOptions, host: Host): Promise<ChosenModel> {
  const { model, reasoning } = settings;
  const chosen = await chooseModel(model, host.env, isWatched(options, host));
  if (reasoning !== undefined && chosen.remote === undefined) {
    throw new UsageError(`--reasoning is for models of providers: leave it out for ${model}`);
  }
  return chosen;
}

function approvalOf(options: TurnOptions, { asks }: RunSettings, host: Host): Approval {
  const isAnswered = canAsk(options, host);
  if (options.approve === 'ask' && !isAnswered && options.noStore) {
    throw new UsageError('--approve ask needs a terminal to ask in, or a store to wait in: leave out --no-store');
  }
  return options.approve ?? (isAnswered || (asks && !options.noStore) ? 'ask' : 'none');
}

interface RigParts {
  readonly chosen: ChosenModel;
  readonly options: TurnOptions;
  readonly settings: RunSettings;
  readonly approval: Approval;
  readonly store: JournalStore;
  readonly host: Host;
  readonly sessionId?: string;
  readonly shown?: string;
}

const GATES: Readonly<Record<Approval, GateOptions>> = Object.freeze({
  all: { rules: [{ action: '*', decision: 'allow' as const }] },
  ask: { ask: true },
  none: {},
});

async function openRig(parts: RigParts): Promise<Session> {
  const { chosen, options, settings, approval, store, host, sessionId, shown } = parts;
  const rig = defineRig({
    loops: [defineRunLoop(chosen, options, settings, await serverTools(settings.mcp))],
    workspace: settings.workspace,
    store,
    gate: GATES[approval],
    clock: host.clock,
  });
  try {
    if (sessionId === undefined) return await rig.open();
    const session = await rig.open({ sessionId });
    if (options.mode !== undefined) await session.setMode(options.mode);
    return session;
  } catch (cause) {
    if (WorkspaceError.is(cause)) throw new UsageError(`--workspace: ${cause.message}`, { cause });
    if (SessionError.is(cause) && cause.kind === 'unknown_loop') {
      const whose = `session ${shown} was made by another program, with a loop that this one has not`;
      throw new UsageError(`${whose}: "looprig show ${shown}" shows it`, { cause });
    }
    throw cause;
  }
}

/** As it must be typed again; a store that a variable or the platform names is found without. */
function storeArgument({ store }: Pick<TurnOptions, 'store'>): string {
  if (store === undefined) return '';
  const path = resolve(store);
  return ` --store ${/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`}`;
}

type WorkParts = Omit<OpenSession, 'close' | 'leave'>;

class Work implements OpenSession {
  readonly session: Session;
  readonly store: JournalStore;
  readonly chosen: ChosenModel;
  readonly settings: RunSettings;
  readonly approval: Approval;
  readonly kept: Kept | undefined;
  readonly #lock: SessionLock | undefined;

  constructor({ session, store, chosen, settings, approval, kept }: WorkParts, lock: SessionLock | undefined) {
    this.session = session;
    this.store = store;
    this.chosen = chosen;
    this.settings = settings;
    this.approval = approval;
    this.kept = kept;
    this.#lock = lock;
  }

  async close(): Promise<void> {
    try {
      await this.session.close();
    } finally {
      await this.leave();
    }
  }

  async leave(): Promise<void> {
    try {
      await this.store.close?.();
    } finally {
      await this.#lock?.release();
    }
  }
}
