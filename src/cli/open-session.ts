/** Opens a session to work on it: a new one, or one of the store, with the loop, the folder and the model that it had. */
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
import { type Agent, agentFor, requireMode } from './agent.ts';
import { discreetStore } from './discreet-store.ts';
import type { Host } from './host.ts';
import { lastSpoken } from './last-spoken.ts';
import { lateStore } from './late-store.ts';
import { hasLoopFile, loadLoopFile } from './loop-file.ts';
import { type Approval, NO_TURN_OPTIONS, type RunOptions, type TurnOptions } from './options.ts';
import { keepSettings, makeRunsFolder, type RunSettings, readSettings, settle } from './run-settings.ts';
import type { SecretFilter } from './secrets.ts';
import { findSession, shortId } from './session-ids.ts';
import { lockSession } from './session-lock.ts';
import { findStore, type OpenStore, openStore, type StorePlace, storeAgain } from './store-place.ts';
import { UsageError } from './usage-error.ts';
import { canAsk } from './views.ts';

/** Where a session is kept, and what it is called there. */
interface Kept {
  readonly sessionId: string;
  /** Its id as people type it. */
  readonly shown: string;
  /** What a command has to be given to find the session again; empty, or options with a space before them. */
  readonly storeArgument: string;
  /** The file of the store; `undefined` for one that is no file. */
  readonly place: StorePlace | undefined;
}

/** A session under work. */
export interface OpenSession {
  readonly session: Session;
  readonly store: JournalStore;
  readonly agent: Agent;
  readonly approval: Approval;
  /** `undefined` for a session that ends with the process. */
  readonly kept: Kept | undefined;
  /** Has the session left as it is when the command ends, so that a turn which waits can be taken up by another process. Else a turn that runs is interrupted. */
  leave(): void;
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
  options: Pick<TurnOptions, 'store'> & Partial<Pick<TurnOptions, 'loop'>>,
  host: Pick<Host, 'env' | 'opened'>,
): Promise<FoundSession> {
  const own = options.loop === undefined ? undefined : (await loadLoopFile(options.loop)).config.store;
  const found = await findStore(options, host, own);
  const sessions = (await found?.store.list()) ?? [];
  const stored = given.trim() === 'last' ? await lastSpoken(found?.store, sessions) : findSession(given, sessions);
  const ids = sessions.map(({ sessionId }) => sessionId);
  const isOwn = own !== undefined && found?.store === own;
  return {
    ...found!,
    stored,
    shown: shortId(stored.sessionId, ids),
    storeArgument: isOwn ? argument('--loop', resolve(options.loop ?? '.')) : storeArgument(options),
  };
}

/** Makes the agent and opens a new session, which is kept from its first input on. Throws `UsageError` for what cannot be done as asked. */
export async function openNew(options: RunOptions, host: Host, secrets: SecretFilter): Promise<OpenSession> {
  const agent = await agentFor(settle(options, {}), options, host, secrets);
  if (options.prompt === undefined && agent.defaultPrompt === undefined) throw noPrompt();
  const approval = approvalOf(options, agent, host);
  const parts = { agent, options, approval, host, secrets };
  if (options.noStore) return workOn(parts, memoryStore(), undefined);
  const { store, place } = await openStore(options, host, agent.store);
  const keep = async (sessionId: string): Promise<void> => {
    await lockFor(host, place, sessionId, shortId(sessionId, []));
    await keepSettings(place, sessionId, agent.settings);
  };
  const again = store === agent.store ? argument('--loop', agent.settings.loop ?? '.') : storeArgument(options);
  const keptAt = ({ id }: Session): Kept => ({
    ...{ sessionId: id, shown: shortId(id, []), storeArgument: again, place },
  });
  const work = await workOn(parts, lateStore(store, keep), keptAt);
  // What is wrong with the store is told before somebody writes for it.
  await store.find(work.session.id);
  if (place !== undefined) await makeRunsFolder(place);
  return work;
}

/** Opens a session of the store for a turn of this process alone. Throws `UsageError`, and `SessionInUseError`. */
export async function openStored(
  given: string,
  options: TurnOptions,
  host: Host,
  secrets: SecretFilter,
): Promise<OpenSession> {
  const found = await findStored(given, options, host);
  const kept = await settingsOf(found, options);
  const agent = await agentFor(settle(options, kept), options, host, secrets);
  const approval = approvalOf(options, agent, host);
  const work = await openFound(found, { agent, options, approval, host, secrets });
  await keepSettings(found.place, found.stored.sessionId, agent.settings);
  return work;
}

/** Opens a session of the store to answer its gates: no turn can run in it. Throws `UsageError`, and `SessionInUseError`. */
export async function openToAnswer(
  given: string,
  { store, loop }: Pick<TurnOptions, 'store' | 'loop'>,
  host: Host,
  secrets: SecretFilter,
): Promise<OpenSession> {
  const options = { ...NO_TURN_OPTIONS, store, loop };
  const found = await findStored(given, options, host);
  const kept = await settingsOf(found, options);
  // Nobody is asked for an answer here, and nothing is called: so neither a key nor a server is needed.
  const { reasoning: _, model: __, ...rest } = settle(options, kept);
  const settings = { ...rest, model: rest.loop === undefined ? 'demo' : undefined, reasoning: undefined, mcp: [] };
  const agent = await agentFor(settings, options, host, secrets);
  return openFound(found, { agent, options, approval: 'ask', host, secrets });
}

/** What the session was run with. Throws `UsageError` where its file of loops is gone, and no other was named. */
async function settingsOf(
  { place, stored, shown }: FoundSession,
  options: Pick<TurnOptions, 'loop'>,
): Promise<Partial<RunSettings>> {
  const kept = await readSettings(place, stored.sessionId);
  if (options.loop !== undefined || kept.loop === undefined || (await hasLoopFile(kept.loop))) return kept;
  throw new UsageError(
    `session ${shown} was run with ${kept.loop}, which is not there any more: say with --loop where it is now`,
  );
}

async function openFound(
  { store, place, stored: { sessionId }, shown, storeArgument }: FoundSession,
  parts: Omit<RigParts, 'store' | 'sessionId' | 'shown'>,
): Promise<OpenSession> {
  await lockFor(parts.host, place, sessionId, shown);
  return workOn({ ...parts, sessionId, shown }, store, () => ({ sessionId, shown, storeArgument, place }));
}

/** Locks a session until the command ends. Throws `SessionInUseError`. */
async function lockFor(
  { opened }: Host,
  place: StorePlace | undefined,
  sessionId: string,
  shown: string,
): Promise<void> {
  const lock = await lockSession(place, sessionId, shown);
  opened.add(() => lock.release());
}

/** Opens the session. When the command ends, it is closed, unless it is to be left. */
async function workOn(
  parts: Omit<RigParts, 'store'>,
  store: JournalStore,
  keptAt: ((session: Session) => Kept) | undefined,
): Promise<OpenSession> {
  const { agent, approval, host } = parts;
  const session = await openRig({ ...parts, store });
  let isLeft = false;
  host.opened.add(() => (isLeft ? undefined : session.close()));
  const leave = (): void => {
    isLeft = true;
  };
  return { session, store, agent, approval, kept: keptAt?.(session), leave };
}

/** What is said where nothing is asked of a model. */
export function noPrompt(): UsageError {
  return new UsageError('there is no prompt: say what is to be done, in quotes');
}

function approvalOf(options: TurnOptions, { settings, gate }: Agent, host: Host): Approval {
  const isAnswered = canAsk(options, host);
  if (options.approve === 'ask' && !isAnswered && options.noStore) {
    throw new UsageError('--approve ask needs a terminal to ask in, or a store to wait in: leave out --no-store');
  }
  const waits = (settings.asks || gate?.ask === true) && !options.noStore;
  return options.approve ?? (isAnswered || waits ? 'ask' : 'none');
}

interface RigParts {
  readonly agent: Agent;
  readonly options: TurnOptions;
  readonly approval: Approval;
  readonly store: JournalStore;
  readonly host: Host;
  readonly secrets: SecretFilter;
  readonly sessionId?: string;
  readonly shown?: string;
}

/** What `--approve` makes of a gate. What its rules forbid stays forbidden. */
export function gateFor(approval: Approval, gate: GateOptions | undefined): GateOptions {
  if (approval !== 'all') return { ...gate, ask: approval === 'ask' };
  return { ...gate, ask: false, rules: [...(gate?.rules ?? []), { action: '*', decision: 'allow' }] };
}

async function openRig(parts: RigParts): Promise<Session> {
  const { agent, options, approval, host, sessionId, shown } = parts;
  const store = discreetStore(parts.store, parts.secrets);
  const mode = options.mode === undefined ? undefined : requireMode(agent.loop, options.mode);
  const rig = defineRig({ ...agent.rig, store, gate: gateFor(approval, agent.gate), clock: host.clock });
  try {
    const session = await (sessionId === undefined ? rig.open({ loop: agent.loop.name }) : rig.open({ sessionId }));
    if (mode !== undefined && mode !== session.mode) await session.setMode(mode);
    return session;
  } catch (cause) {
    if (WorkspaceError.is(cause)) {
      throw new UsageError(`${options.workspace === undefined ? '' : '--workspace: '}${cause.message}`, { cause });
    }
    if (SessionError.is(cause) && cause.kind === 'unknown_loop') {
      const whose = `session ${shown} was made by another program, with a loop that this one has not`;
      throw new UsageError(`${whose}: "looprig show ${shown}" shows it`, { cause });
    }
    throw cause;
  }
}

/** As it must be typed again; a store that a variable or the platform names is found without. */
function storeArgument({ store }: Pick<TurnOptions, 'store'>): string {
  return store === undefined ? '' : argument('--store', storeAgain(store));
}

function argument(name: string, path: string): string {
  return ` ${name} ${/^[\w./@:+#-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`}`;
}
