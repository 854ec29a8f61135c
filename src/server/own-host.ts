/** Whose sessions a server serves: a host that was given, or one made of a rig, which ends with the server. */
import { createHost } from '../engines/create-host.ts';
import type { SessionHost } from '../engines/host.ts';
import type { LoopDefinition, Rig } from '../index.ts';
import { show } from '../show.ts';
import { ServerError } from './errors.ts';

/** A rig, whose turns run in this process, or a host, whose turns run where its engine has them run. */
export type Served = Rig<readonly LoopDefinition[]> | SessionHost;

/** The host, and whether the server ends it. Throws `ServerError` `invalid_option`. */
export function hostFor(
  served: Served,
  onError: (error: unknown) => void,
): { readonly host: SessionHost; readonly isOwn: boolean } {
  const given: unknown = Object(served);
  if (has(given, 'submit') && has(given, 'events')) return { host: served as SessionHost, isOwn: false };
  if (has(given, 'open') && has(given, 'begin')) {
    const rig = served as Rig<readonly LoopDefinition[]>;
    return { host: createHost({ rig, onError }), isOwn: true };
  }
  throw new ServerError('invalid_option', `a server needs a rig or a host of sessions, not ${show(served)}`);
}

function has(value: unknown, method: string): boolean {
  return typeof Reflect.get(Object(value), method) === 'function';
}
