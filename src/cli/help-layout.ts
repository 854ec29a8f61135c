/** How help is laid out, where that is not commander's own way: names of values stand bare and in capitals, and choices read as words. */
import type { Argument, Command, HelpConfiguration, Option } from 'commander';

export const HELP_LAYOUT: HelpConfiguration = {
  minWidthToWrap: 10,
  optionTerm: ({ flags }: Option) => flags.replace(/[<>]/g, ''),
  optionDescription: withChoices,
  argumentTerm: (argument: Argument) => argument.name(),
  subcommandTerm: (command: Command) => `${command.name()} ${argumentsOf(command)}`.trimEnd(),
  commandUsage: (command: Command) =>
    command.parent === null
      ? `${command.name()} ${command.usage()}`
      : `${command.parent.name()} ${command.name()} ${argumentsOf(command)} [options]`.replace(/ +/g, ' '),
};

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
