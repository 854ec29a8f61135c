/** How a rig and its sessions read their options: an unknown one is a mistake of the program, told before anything is changed. */
import { readTyped } from '../define/options.ts';
import { SessionError } from '../errors.ts';

/** The options `known` of `given`, which belong to `owner`. Throws `SessionError` `invalid_option`. */
export function readSessionOptions<Options extends object>(
  given: Options,
  known: readonly (keyof Options & string)[],
  owner: string,
): Options {
  return readTyped(given, known, owner, (_field, message, details) => {
    return new SessionError('invalid_option', message, details);
  });
}
