/** Defines a rig: checks its options at once, and loads what opens and runs sessions when the first one is opened. */
import type { BoundLoop } from '../bind/bound-loop.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Secrets } from '../define/bindings.ts';
import { isLoopDefinition, type LoopDefinition } from '../define/loop.ts';
import { SessionError } from '../errors.ts';
import type { JournalStore } from '../journal/journal.ts';
import { memoryStore } from '../journal/memory.ts';
import { show } from '../show.ts';
import type { DeleteOptions } from './deletion.ts';
import { resolveGate } from './gate-options.ts';
import type { OpenOptions, OpenRig, ResolvedRig, Rig, RigOptions } from './rig.ts';
import type { Session } from './session.ts';
import { readSessionOptions } from './session-options.ts';
import type { ListOptions, SessionSummary } from './summary.ts';

/** Joins loops, a store, a workspace and a gate. Throws `SessionError` `invalid_option`. */
export function defineRig<const Loops extends readonly LoopDefinition[]>(options: RigOptions<Loops>): Rig<Loops> {
  // The one place where names of loops become types: at run time a session is the same class for all of them.
  return new LazyRig(resolveRig(options)) as unknown as Rig<Loops>;
}

const RIG_OPTIONS = [
  ...(['loops', 'store', 'workspace', 'gate', 'secrets'] as const),
  ...(['bindings', 'observers', 'onDrift', 'clock'] as const),
] as const;

const STORE_METHODS = [
  'append',
  'read',
  'list',
  'find',
  'putCapture',
  'getCapture',
] as const satisfies readonly (keyof JournalStore)[];

function resolveRig(options: RigOptions<readonly LoopDefinition[]>): ResolvedRig {
  const given = readSessionOptions(options, RIG_OPTIONS, 'a rig');
  const { loops, store, workspace, gate, secrets, bindings, observers, onDrift, clock } = given;
  if (!Array.isArray(loops) || loops.length === 0) {
    const given = Array.isArray(loops) ? 'and is empty' : `not ${show(loops)}`;
    throw invalid(`"loops" must list at least one loop definition, ${given}`);
  }
  const byName = new Map<string, LoopDefinition>();
  loops.forEach((loop: unknown, index) => {
    if (!isLoopDefinition(loop)) throw invalid(`loops[${index}] must come from defineLoop, not ${show(loop)}`);
    if (byName.has(loop.name)) throw invalid(`loops[${index}] repeats the name "${loop.name}": names must differ`);
    byName.set(loop.name, loop);
  });
  requireStore(store);
  resolveGate(gate); // refused here, before a session is opened under it
  if (onDrift !== undefined && onDrift !== 'continue' && onDrift !== 'refuse') {
    throw invalid(`"onDrift" must be "continue" or "refuse", not ${show(onDrift)}`);
  }
  return Object.freeze({
    loops: byName,
    store: store ?? memoryStore(),
    workspace,
    gate,
    secrets: secrets === undefined ? undefined : resolveSecrets(secrets),
    bindings: { ...bindings },
    observers: Object.freeze([...(observers ?? [])]),
    onDrift: onDrift ?? 'continue',
    clock: clock ?? systemClock,
  });
}

function requireStore(store: unknown): void {
  const isStore = (value: object): boolean =>
    STORE_METHODS.every(name => typeof Reflect.get(value, name) === 'function');
  if (store === undefined || (typeof store === 'object' && store !== null && isStore(store))) return;
  throw invalid(`"store" must be a journal store, such as sqliteStore({ file }), not ${show(store)}`);
}

function resolveSecrets(secrets: Secrets | Readonly<Record<string, string>>): Secrets {
  if (typeof secrets.get === 'function') return secrets as Secrets;
  const values = new Map(Object.entries(secrets as Readonly<Record<string, string>>));
  return Object.freeze({ get: (name: string) => values.get(name) });
}

/** Loaded once, whoever is first; to ask the platform each time would cost a session some twenty promises. */
let loading: Promise<typeof import('./rig.ts')> | undefined;

/** A program that defines agents and runs none of them loads half of the core. */
class LazyRig implements Pick<OpenRig, keyof OpenRig>, Pick<Rig, 'loops' | 'store' | 'clock' | 'gateTimeoutMs'> {
  readonly #options: ResolvedRig;
  #rig: OpenRig | undefined;

  constructor(options: ResolvedRig) {
    this.#options = options;
  }

  get loops(): readonly LoopDefinition[] {
    return [...this.#options.loops.values()];
  }

  get store(): JournalStore {
    return this.#options.store;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get gateTimeoutMs(): number {
    return resolveGate(this.#options.gate).gateTimeoutMs;
  }

  async begin(options?: { readonly loop?: string; readonly mode?: string }): Promise<string> {
    return (await this.#load()).begin(options);
  }

  async open(options?: OpenOptions<string>): Promise<Session> {
    return (await this.#load()).open(options);
  }

  async bind(name?: string): Promise<BoundLoop> {
    return (await this.#load()).bind(name);
  }

  async sessions(options?: ListOptions): Promise<SessionSummary[]> {
    return (await this.#load()).sessions(options);
  }

  async delete(sessionId: string, options?: DeleteOptions): Promise<void> {
    await (await this.#load()).delete(sessionId, options);
  }

  async #load(): Promise<OpenRig> {
    if (this.#rig !== undefined) return this.#rig;
    loading ??= import('./rig.ts');
    const { OpenRig } = await loading;
    this.#rig ??= new OpenRig(this.#options);
    return this.#rig;
  }
}

function invalid(message: string): SessionError<'invalid_option'> {
  return new SessionError('invalid_option', message);
}
