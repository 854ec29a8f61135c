/** A server as people write it in one line: an address, or a command. */
import { DefinitionError } from '../errors.ts';
import type { McpToolsetOptions } from './options.ts';

/**
 * Options of the server that one line names: an `http:` or `https:` address, or a command with its arguments, quoted as in a shell (no
 * shell is used). The server's name is made from the host or the program. Throws `DefinitionError` `invalid_option`.
 */
export function parseMcpServer(line: string): McpToolsetOptions {
  const text = line.trim();
  if (/^https?:\/\//i.test(text)) {
    if (!URL.canParse(text)) throw refused('is no address');
    return { name: nameFrom(new URL(text).host), url: text };
  }
  const [command, ...args] = words(text);
  if (command === undefined) throw refused('is empty');
  return { name: nameFrom(subjectOf(command, args)), command, args };
}

/** Programs that start others: the first argument that is none of their options says what runs. */
const STARTERS = /^(?:npx|bunx|pnpx|uvx|node|bun|deno|python3?|docker)(?:\.exe|\.cmd)?$/;

/** Parts of a path that every server has. */
const SAYS_NOTHING = /^(?:\.+|(?:index|main|cli|server|mod)(?:\.\w+)?|dist|build|lib|src|bin|out)$/;

function subjectOf(command: string, args: readonly string[]): string {
  const program = command.split(/[\\/]/).at(-1) ?? command;
  if (!STARTERS.test(program)) return program;
  return args.find(argument => !argument.startsWith('-') && !/^(?:run|exec)$/.test(argument)) ?? program;
}

function nameFrom(subject: string): string {
  const parts = subject.split(/[\\/]/).filter(part => part !== '');
  const last = parts.findLast(part => !SAYS_NOTHING.test(part)) ?? parts.at(-1) ?? '';
  const name = last
    .replace(/(?<=.)@[^@]*$/, '')
    .replace(/\.[cm]?[jt]s$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name.slice(0, 64) || 'mcp';
}

/** The words of a command line: separated by spaces, with quotes and backslashes as in a shell. */
function words(text: string): readonly string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else if (character === quote) {
      quote = '';
    } else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (character === '\\' && quote !== "'" && index + 1 < text.length) {
      index++;
      word = (word ?? '') + text.charAt(index);
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== '') throw refused(`has a quote ${quote} that is not closed`);
  return word === undefined ? found : [...found, word];
}

/** What was given may hold a secret, so that the message does not show it. */
function refused(what: string): DefinitionError {
  return new DefinitionError('invalid_option', {
    field: 'server',
    message: `the MCP server ${what}: give an http(s) address, or a command`,
  });
}
