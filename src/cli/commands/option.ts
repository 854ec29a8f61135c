/** Options as commands declare them. An option is given once, unless it says otherwise, and its value is checked where it is declared. */
import { InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../usage-error.ts';

/** An option that is there or not. With `--no-` before a name, it is that name's value which is false then. */
export function flag(flags: string, description: string): Option {
  return new Option(flags, description);
}

/** An option with a value. `read` makes of it what the program works with, and throws `UsageError` for what it cannot take. */
export function valued(flags: string, description: string, read: (text: string) => unknown = text => text): Option {
  let isGiven = false;
  const option = new Option(flags, description);
  return option.argParser(text => {
    if (isGiven) throw new UsageError(`${option.long} is given twice: give it once`);
    isGiven = true;
    return read(requireValue(text));
  });
}

/** An option whose value is one of a few words. */
export function choice(flags: string, description: string, known: readonly string[]): Option {
  const option = valued(flags, description, text => {
    if (known.includes(text)) return text;
    throw new UsageError(`${option.long} must be one of ${known.join(', ')}, not "${text}"`);
  });
  option.argChoices = [...known];
  return option;
}

/** An option that may be given again: a list of its values. */
export function repeated(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string, before: readonly string[] = []) => {
    return Object.freeze([...before, requireValue(text)]);
  });
}

/** What is read as a value where it was forgotten: nothing, or the option that comes next. */
function requireValue(text: string): string {
  if (text.trim() === '' || text.startsWith('--') || text === '-h')
    throw new InvalidArgumentError('a value is missing');
  return text;
}
