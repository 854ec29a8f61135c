/** Arguments as options and positionals. The parser is asked for tokens alone, so that each mistake gets a sentence of our own. */
import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

/** The options of a command: whether they take a value, their one letter if they have one, and whether they may be given again. */
export type OptionTable = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: true }>
>;

/** What was given. */
export interface Given {
  readonly positionals: readonly string[];
  /** Whether an option is there. */
  has(name: string): boolean;
  /** The value of an option; `undefined` where it was not given. */
  text(name: string): string | undefined;
  /** All values of an option that may be given again, in their order. */
  texts(name: string): readonly string[];
}

/** Reads the arguments of `command`. Throws `UsageError` for an option that there is not, is given twice, or has no value where it needs one. */
export function readArgs(command: string, options: OptionTable, args: readonly string[]): Given {
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  const values = new Map<string, string | true>();
  const lists = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      throw new UsageError(`there is no option ${rawName}: "looprig ${command} --help" lists them`);
    }
    if (option.multiple === true) {
      lists.set(name, [...(lists.get(name) ?? []), requireValue(command, token)]);
      continue;
    }
    if (values.has(name)) throw new UsageError(`${rawName} is given twice: give it once`);
    values.set(name, option.type === 'boolean' ? requireNoValue(token) : requireValue(command, token));
  }
  return {
    positionals,
    has: name => values.has(name),
    text(name) {
      const value = values.get(name);
      return typeof value === 'string' ? value : undefined;
    },
    texts: name => lists.get(name) ?? [],
  };
}

interface OptionToken {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function requireNoValue({ rawName, value }: OptionToken): true {
  if (value === undefined) return true;
  throw new UsageError(`${rawName} takes no value: leave out "=${value}"`);
}

function requireValue(command: string, { rawName, value, inlineValue }: OptionToken): string {
  const isOption = inlineValue !== true && value?.startsWith('-') === true;
  if (value !== undefined && value.trim() !== '' && !isOption) return value;
  throw new UsageError(`${rawName} needs a value: "looprig ${command} --help" shows which`);
}
