/** `looprig serve` and `looprig worker`: a process that lives until it is told to end, and runs turns for others. */
import { createHost, type Engine, engineFromUrl, localEngine, type Host as TurnHost } from '../engines/index.ts';
import { DefinitionError, defineRig, type JournalStore, memoryStore, type SessionEvent } from '../index.ts';
import { reasonOf } from '../reason.ts';
import { type Listening, listen, ServerError, type ServerMetrics, serverMetrics } from '../server/index.ts';
import { type Agent, agentFor } from './agent.ts';
import { type CommandEnd, DONE } from './command.ts';
import { discreetStore } from './discreet-store.ts';
import type { Host } from './host.ts';
import { lockingEngine } from './locking-engine.ts';
import { findLoopFile } from './loop-file.ts';
import { gateFor } from './open-session.ts';
import type { ServeOptions, WorkerOptions } from './options.ts';
import { projectStore } from './project-store.ts';
import { settle } from './run-settings.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { shortId } from './session-ids.ts';
import { SessionInUseError } from './session-lock.ts';
import { openStore } from './store-place.ts';
import { UsageError } from './usage-error.ts';

/** How long turns that are under way may still take when the process is told to end, in milliseconds. */
const GRACE_MS = 5_000;

/** What a process serves. */
interface Service {
  readonly agent: Agent;
  readonly host: TurnHost;
  readonly metrics: ServerMetrics;
  /** Lets go of everything: turns that end soon are waited for. */
  close(): Promise<void>;
}

/** Serves sessions over HTTP until it is stopped. Throws `UsageError` for what cannot be done as asked. */
export async function serveCommand(options: ServeOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const token = options.token ?? (host.env.LOOPRIG_TOKEN?.trim() || undefined);
  if (token !== undefined) secrets.learn([token]);
  const service = await startService(options, host, secrets);
  try {
    const listening = await startListening(service, options, token, host);
    tellAddress(listening.url, service, token !== undefined, host);
    await stopped(host);
    await listening.close();
  } finally {
    await service.close();
  }
  return DONE;
}

/** The address alone goes to standard output, for programs that wait for it. */
function tellAddress(url: string, service: Service, hasToken: boolean, { stdout, stderr }: Host): void {
  stderr.write(`looprig serves ${loopsOf(service)}: Ctrl-C ends it\n`);
  if (hasToken) stderr.write(`its page is at ${url}/#token=TOKEN, with your token in the place of TOKEN\n`);
  stdout.write(`${url}\n`);
}

/** Runs the turns that an engine gives, until it is stopped. Throws `UsageError` for what cannot be done as asked. */
export async function workerCommand(options: WorkerOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const service = await startService(options, host, secrets);
  try {
    host.stderr.write(`looprig works on ${loopsOf(service)}: Ctrl-C ends it\n`);
    await stopped(host);
  } finally {
    await service.close();
  }
  return DONE;
}

async function startService(
  options: ServeOptions | WorkerOptions,
  host: Host,
  secrets: SecretFilter,
): Promise<Service> {
  const loop = options.loop ?? (await findLoopFile('.'));
  const agent = await agentFor({ ...settle(options, {}), loop }, options, host, secrets, 'all');
  const engine = options.engine === undefined ? undefined : await engineNamed(options.engine, secrets);
  const { store, place } = options.noStore
    ? { store: memoryStore(), place: undefined }
    : await openStore(options, host, agent.store);
  const metrics = serverMetrics();
  const tellWaiting = (sessionId: string): void => {
    const shown = shortId(sessionId, []);
    host.stderr.write(`looprig: another process works on session ${shown}: its turns run here when that has ended\n`);
  };
  const own = projectStore(store, { place, settings: agent.settings }, 'all' in options && options.all);
  const turns = createHost({
    rig: rigOf(agent, discreetStore(own, secrets), options, metrics, host),
    engine: lockingEngine(engine ?? localEngine({ clock: host.clock }), place, id => shortId(id, []), tellWaiting),
    onError: (error, ref) => tellFailure(error, ref?.sessionId, host, secrets),
  });
  const close = async (): Promise<void> => {
    await turns.close({ graceMs: GRACE_MS });
    await engine?.close?.();
  };
  if (!('noTurns' in options && options.noTurns)) {
    await turns.serve().catch(async error => {
      await close();
      throw error;
    });
  }
  return { agent, host: turns, metrics, close };
}

function rigOf(
  { rig, gate }: Agent,
  store: JournalStore,
  { approve = 'ask' }: ServeOptions | WorkerOptions,
  metrics: ServerMetrics,
  { clock }: Host,
): ReturnType<typeof defineRig> {
  const observers: ((event: SessionEvent) => void)[] = [...(rig.observers ?? []), metrics.observe];
  return defineRig({ ...rig, observers, store, gate: gateFor(approve, gate), clock });
}

async function engineNamed(text: string, secrets: SecretFilter): Promise<Engine> {
  const password = URL.parse(text)?.password;
  if (password) secrets.learn([password, decodeURIComponent(password)]);
  try {
    return await engineFromUrl(text);
  } catch (cause) {
    if (!DefinitionError.is(cause)) throw cause;
    throw new UsageError(`--engine: ${cause.message}`, { cause });
  }
}

/** What a user did not say, or has not installed, is wrong usage; an address that is taken is, too. */
async function startListening(
  { host, metrics }: Service,
  options: ServeOptions,
  token: string | undefined,
  { clock }: Host,
): Promise<Listening> {
  const given = { host: options.host, port: options.port, metrics, clock };
  try {
    return await listen(host, token === undefined ? given : { ...given, token });
  } catch (cause) {
    if (!ServerError.is(cause)) throw cause;
    throw new UsageError(adviceFor(cause), { cause });
  }
}

function adviceFor({ kind, message }: ServerError): string {
  switch (kind) {
    case 'missing_package':
      return 'looprig serve needs two packages that are not installed: run "npm install hono@4 @hono/node-server@2"';
    case 'not_listening':
      return `${message}: --port 0 takes one that is free`;
    case 'invalid_option':
      return message
        .replace('give it a "token"', 'give it a token by LOOPRIG_TOKEN or --token')
        .replace(/^"(token|host|port)"/, '--$1');
  }
}

/** Something went wrong that nobody waits for: it is told, and tried again. */
function tellFailure(error: unknown, sessionId: string | undefined, { stderr }: Host, secrets: SecretFilter): void {
  if (error instanceof SessionInUseError) return; // it is told of once, and tried often
  const where = sessionId === undefined ? '' : `session ${sessionId}: `;
  stderr.write(`looprig: ${where}${oneLine(reasonOf(error), secrets)}\n`);
}

function loopsOf({ agent, host }: Service): string {
  const names = host.loops.map(({ name }) => name);
  return `${names.length === 1 ? 'the loop' : 'the loops'} ${names.join(', ')} · model: ${agent.label}`;
}

function stopped({ stop }: Host): Promise<void> {
  return new Promise(resolve => {
    if (stop.aborted) resolve();
    else stop.addEventListener('abort', () => resolve(), { once: true });
  });
}
