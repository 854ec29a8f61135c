/** What is secret of a server's options (values of its environment and headers, passwords in arguments and addresses), kept out of messages. */
import type { ResolvedEndpoint } from './options.ts';

const HIDDEN = '[hidden]';

/** Shorter values are found in any text: `1`, `en`, `true`. */
const SHORTEST_VALUE = 6;

const SECRET_NAME = /(?:key|token|secret|passw|auth|credential|cookie|session|bearer)/i;

/** A function that takes the secrets out of a text. */
export function hiderOf(endpoint: ResolvedEndpoint): (text: string) => string {
  const secrets = [...new Set(secretsOf(endpoint))].sort((one, other) => other.length - one.length);
  return text => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
}

function secretsOf(endpoint: ResolvedEndpoint): string[] {
  const values = Object.values(endpoint.start === undefined ? endpoint.headers : endpoint.start.env);
  // `Bearer abc` is as secret without its first word.
  const all = values.flatMap(value => [value, value.trim(), value.trim().split(/\s+/).at(-1) ?? '']);
  if (endpoint.start !== undefined) all.push(...secretArguments(endpoint.start.args));
  else all.push(endpoint.url.password, endpoint.url.username, ...endpoint.url.searchParams.values());
  return all.filter(value => value.length >= SHORTEST_VALUE);
}

/** The arguments that are secrets by their names: `--token=abc`, `--token abc`. */
function secretArguments(args: readonly string[]): string[] {
  return args.flatMap((argument, index) => {
    const [name = '', ...rest] = argument.split('=');
    if (argument.includes('=')) return SECRET_NAME.test(name) ? [rest.join('=')] : [];
    const before = args[index - 1] ?? '';
    return before.startsWith('-') && !argument.startsWith('-') && SECRET_NAME.test(before) ? [argument] : [];
  });
}

/** What is started, or where it is, in one line. */
export function shownEndpoint(endpoint: ResolvedEndpoint): string {
  if (endpoint.start === undefined) return `${endpoint.url.origin}${endpoint.url.pathname}`;
  const { command, args } = endpoint.start;
  const secrets = secretArguments(args).filter(secret => secret !== '');
  const shown = args.map(argument => {
    const secret = secrets.find(value => argument.endsWith(value));
    return secret === undefined ? argument : argument.slice(0, -secret.length) + HIDDEN;
  });
  const line = [command, ...shown]
    .map(word => (/^[\w@%+=:,./[\]-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ');
  return hiderOf(endpoint)(line);
}
