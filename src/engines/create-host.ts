/** Makes a host: sessions by their ids, their turns run by an engine, here or elsewhere. */

import type { LoopDefinition } from '../define/loop.ts';
import { readTyped, refuseOption } from '../define/options.ts';
import { quietly } from '../quietly.ts';
import type { Rig } from '../session/rig.ts';
import { show } from '../show.ts';
import type { Engine, TurnRef } from './engine.ts';
import type { Host } from './host.ts';
import { localEngine } from './local.ts';
import { OpenHost } from './open-host.ts';

/** What `createHost` takes. */
export interface HostOptions {
  /** Whose sessions they are. Its store must have a mailbox, as `memoryStore`, `sqliteStore` and `postgresStore` have. */
  readonly rig: Rig<readonly LoopDefinition[]>;
  /** Decides where and when turns run. Default: this process runs them (`localEngine()`), from the start. */
  readonly engine?: Engine;
  /**
   * How long a turn that only waits for people, or a session without a turn, stays in this process's memory, with its tools, in milliseconds by the rig's
   * clock. Default 30,000. With 0 it leaves at once.
   */
  readonly keepMs?: number;
  /**
   * How many sessions without a turn stay in memory for `keepMs` at most, each with its history and its tools; past it the one whose turn ended longest ago
   * leaves. Default 100. With 0 each leaves at once.
   */
  readonly keepSessions?: number;
  /**
   * Whether inputs and turns that were taken up before this process began are started when it begins to serve: of an engine that is not durable, which has
   * forgotten them. Default true. What another process that lives is in the middle of stays with it.
   */
  readonly recover?: boolean;
  /** Told of a run that failed and is tried again, of an answer that was taken and does not fit the tools of this process (`GateError`), and of what failed without anybody who waits for it. What it throws is ignored. Default: nobody is. */
  readonly onError?: (error: unknown, ref: TurnRef | undefined) => void;
}

const OPTIONS = ['rig', 'engine', 'keepMs', 'keepSessions', 'recover', 'onError'] as const;

/**
 * Makes a host of a rig. What is asked of a session is left in its mailbox, and taken up by the process that runs its turn: this one, or another that
 * serves the same engine on the same store. Throws `DefinitionError` `invalid_option`. The rig's store and the engine are closed by whoever made them.
 */
export function createHost(options: HostOptions): Host {
  const given = readTyped(options, OPTIONS, 'createHost');
  const { rig, engine, keepMs = 30_000, keepSessions = 100, recover = true, onError } = given;
  if (typeof rig?.begin !== 'function') throw refuseOption('rig', `"rig" must come from defineRig, not ${show(rig)}`);
  const { mailbox } = rig.store;
  if (mailbox === undefined)
    throw refuseOption(
      'rig',
      "the rig's store has no mailbox, which a host needs: give it one, or use memoryStore() or sqliteStore",
    );
  if (engine !== undefined && (typeof engine.start !== 'function' || typeof engine.serve !== 'function'))
    throw refuseOption('engine', `"engine" must be an engine, not ${show(engine)}`);
  if (typeof keepMs !== 'number' || !(keepMs >= 0))
    throw refuseOption('keepMs', `"keepMs" must be milliseconds, a number from 0, not ${show(keepMs)}`);
  if (!(Number.isSafeInteger(keepSessions) && keepSessions >= 0))
    throw refuseOption('keepSessions', `"keepSessions" must be a whole number from 0, not ${show(keepSessions)}`);
  if (typeof recover !== 'boolean')
    throw refuseOption('recover', `"recover" must be true or false, not ${show(recover)}`);
  if (onError !== undefined && typeof onError !== 'function')
    throw refuseOption('onError', `"onError" must be a function, not ${show(onError)}`);
  const tell = quietly(onError ?? (() => {}));
  const host = new OpenHost({
    ...{ rig, mailbox, keepMs, keepSessions, recover },
    engine: engine ?? localEngine({ clock: rig.clock }),
    onError: tell,
  });
  if (engine === undefined) void host.serve().catch(error => tell(error, undefined));
  return host;
}
