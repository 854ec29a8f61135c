/** What can be completed, read from the declared commands: shells differ only in how they are told. */
import type { Argument, Command, Option } from 'commander';
import { LIMIT_NAMES } from '../limit-option.ts';
import { ANSWER_WORDS } from '../options.ts';

/** What may stand in one place. */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' | 'folders' | 'sessions' | 'anything' };

export interface CompletedOption {
  /** Each way to write it, the long one first. */
  readonly flags: readonly string[];
  readonly summary: string;
  /** `undefined` for an option without a value. */
  readonly values: Values | undefined;
  readonly repeats: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its arguments are, in their order. */
  readonly arguments: readonly { readonly name: string; readonly values: Values }[];
}

/** Beginnings of what `--model` takes. */
const MODELS: readonly string[] = ['demo', 'anthropic/', 'openai/', 'google/', 'compatible:', 'replay:'];

/** What a value is, by the name that help gives it. */
const VALUES: Readonly<Record<string, Values>> = {
  FILE: { kind: 'files' },
  DIR: { kind: 'folders' },
  ID: { kind: 'sessions' },
  GATE: { kind: 'words', words: [...ANSWER_WORDS, 'all'] },
  WORD: { kind: 'words', words: ANSWER_WORDS },
  MODEL: { kind: 'words', words: MODELS },
  'NAME=N,…': { kind: 'words', words: LIMIT_NAMES.split(', ').map(name => `${name}=`) },
};

/** The program itself first, then its commands, those that nobody types left out. */
export function completionTable(program: Command): readonly CompletedCommand[] {
  const help = program.createHelp();
  const commands = help.visibleCommands(program);
  const names: Values = { kind: 'words', words: commands.map(command => command.name()) };
  const table = (command: Command, values: Readonly<Record<string, Values>>): CompletedCommand => ({
    name: command.name(),
    summary: command.summary() || command.description(),
    options: help.visibleOptions(command).map(completedOption),
    arguments: command.registeredArguments.map(argument => completedArgument(argument, values)),
  });
  return [table(program, VALUES), ...commands.map(command => table(command, { ...VALUES, COMMAND: names }))];
}

function completedOption({ long, short, flags, description, argChoices, required, parseArg }: Option): CompletedOption {
  const placeholder = /<(.+)>/.exec(flags)?.[1] ?? '';
  return {
    flags: [long, short].filter(flag => flag !== undefined),
    summary: firstWords(description),
    values: required
      ? ((argChoices && { kind: 'words', words: argChoices }) ?? valuesNamed(placeholder, VALUES))
      : undefined,
    repeats: required && parseArg?.length === 2,
  };
}

function completedArgument(
  argument: Argument,
  values: Readonly<Record<string, Values>>,
): CompletedCommand['arguments'][number] {
  const { argChoices } = argument;
  const name = argument.name();
  return { name, values: argChoices === undefined ? valuesNamed(name, values) : { kind: 'words', words: argChoices } };
}

function valuesNamed(name: string, values: Readonly<Record<string, Values>>): Values {
  return (Object.hasOwn(values, name) ? values[name] : undefined) ?? { kind: 'anything' };
}

/** A description as far as its first full sense: lists of choices stand in it after that. */
function firstWords(description: string): string {
  return description.split(/ \(|[:;]/, 1)[0] ?? description;
}
