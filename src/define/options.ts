/** Reading what a caller gave: each thing once, and with every failure turned into the caller's own error. */
import { DefinitionError } from '../errors.ts';
import { isList, show } from '../show.ts';

/** Makes the error for `field` (empty for the whole), with a sentence that says what is wrong. */
export type Refusal = (
  field: string,
  message: string,
  details?: { readonly value?: unknown; readonly cause?: unknown },
) => Error;

/** The refusal of those who have no kind of their own: `DefinitionError` `invalid_option`. */
export const refuseOption: Refusal = (field, message, details = {}) =>
  new DefinitionError('invalid_option', { field: field === '' ? 'options' : field, message, ...details });

/**
 * The options `known` of `given`, each read once; one that is not given is `undefined`. Refuses what is no object, an option of
 * another name, and a getter that throws. `owner` is what the options belong to, in words.
 */
export function readOptions<Name extends string>(
  given: unknown,
  known: readonly Name[],
  owner: string,
  refuse: Refusal,
): { readonly [Option in Name]: unknown } {
  const unknown = ownKeys(given, owner, refuse).find(key => !(known as readonly string[]).includes(key));
  if (unknown !== undefined) {
    throw refuse(unknown, `${owner} has no option ${show(unknown)}: it takes ${known.join(', ')}`);
  }
  const entries = known.map(name => [name, readField(given as object, name, `"${name}" of ${owner}`, refuse)]);
  return Object.fromEntries(entries) as { readonly [Option in Name]: unknown };
}

/** `readOptions` for whoever checks each option as it is taken: what comes of it has the types that were declared, and nothing else of `given`. */
export function readTyped<Options extends object>(
  given: Options,
  known: readonly (keyof Options & string)[],
  owner: string,
  refuse: Refusal = refuseOption,
): Options {
  return readOptions(given, known, owner, refuse) as Options;
}

/** The own keys of an object of options, or of a record. Refuses what is none. */
export function ownKeys(given: unknown, owner: string, refuse: Refusal): readonly string[] {
  if (typeof given !== 'object' || given === null || isList(given)) {
    const isText = typeof given === 'string'; // it may be an address with a password
    const what = isText ? 'a text' : show(given);
    throw refuse('', `${owner} must be given as an object, not ${what}`, isText ? {} : { value: given });
  }
  try {
    return Object.keys(given);
  } catch (cause) {
    throw refuse('', `${owner} cannot be read`, { cause });
  }
}

/** One property, or the caller's error where reading it throws. */
export function readField(from: object, name: string, what: string, refuse: Refusal): unknown {
  try {
    return Reflect.get(from, name);
  } catch (cause) {
    throw refuse(name, `${what} cannot be read`, { cause });
  }
}

/** A copy of a list, with holes as `undefined`; or `undefined` for what is no list, or cannot be read. */
export function copyList(given: unknown): unknown[] | undefined {
  if (!isList(given)) return undefined;
  try {
    return Array.from({ length: given.length }, (_, index) => given[index]);
  } catch {
    return undefined;
  }
}
