/** How help is laid out, where that is not commander's own way: names of values stand bare and in capitals, and choices read as words. */
import { type Argument, type Command, Help, type HelpConfiguration, type Option } from 'commander';

/** The fewest columns for what a thing does, beside its name: with fewer it stands below. */
const LEAST_COLUMNS = 36;

export const HELP_LAYOUT: HelpConfiguration = {
  minWidthToWrap: 10,
  formatItem: (term: string, termWidth: number, description: string, helper: Help): string => {
    const width = helper.helpWidth ?? Number.POSITIVE_INFINITY;
    if (width - termWidth >= LEAST_COLUMNS) {
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
    }
    const rows = helper.boxWrap(description, width - DEEP.length).split('\n');
    return [`  ${term}`, ...rows.map(row => `${DEEP}${row}`)].join('\n');
  },
  optionTerm: ({ flags }: Option) => flags.replace(/[<>]/g, ''),
  optionDescription: withChoices,
  argumentTerm: (argument: Argument) => argument.name(),
  subcommandTerm: (command: Command) => `${command.name()} ${argumentsOf(command)}`.trimEnd(),
  commandUsage: (command: Command) =>
    command.parent === null
      ? `${command.name()} ${command.usage()}`
      : `${command.parent.name()} ${command.name()} ${argumentsOf(command)} [options]`.replace(/ +/g, ' '),
};

/** What stands before a description below its name. */
const DEEP = '      ';

/** The arguments as they are typed: in words of the command's own, or one after the other. */
function argumentsOf(command: Command): string {
  const declared = command.usage();
  if (!declared.startsWith('[options]')) return declared;
  return command.registeredArguments
    .map(argument => (argument.required ? argument.name() : `[${argument.name()}]`))
    .join(' ');
}

/** `none, low or high`, before what else the description says in parentheses. */
function withChoices({ description, argChoices, defaultValue }: Option): string {
  const byDefault = defaultValue === undefined ? '' : ` (default: ${String(defaultValue)})`;
  if (argChoices === undefined) return `${description}${byDefault}`;
  const choices = argChoices.join(', ').replace(/, (?=[^,]*$)/, ' or ');
  const place = description.lastIndexOf(' (');
  const [before, after] = place === -1 ? [description, ''] : [description.slice(0, place), description.slice(place)];
  return `${before}: ${choices}${after}${byDefault}`;
}
