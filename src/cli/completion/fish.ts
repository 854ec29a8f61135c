/** Completion for fish. */
import type { CompletedCommand, CompletedOption, Values } from './table.ts';

export function fishScript([program, ...commands]: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const outside = `not __fish_seen_subcommand_from ${names}`;
  return `# Completion of looprig for fish: looprig completion fish | source, in ~/.config/fish/config.fish
function __looprig_sessions
    printf 'last\\tthe latest\\n'
    set -l words (commandline -opc)
    $words[1] complete-sessions $words[2..] 2>/dev/null
end
complete -c looprig -f
${commands.map(({ name, summary }) => `complete -c looprig -n ${quoted(outside)} -a ${name} -d ${quoted(summary)}`).join('\n')}
${(program?.options ?? []).map(option => optionLine(outside, option)).join('\n')}
${commands.flatMap(commandLines).join('\n')}
`;
}

function commandLines(command: CompletedCommand): readonly string[] {
  const inside = `__fish_seen_subcommand_from ${command.name}`;
  const kinds = new Map(command.arguments.map(({ values }) => [values.kind, values]));
  return [
    ...command.options.map(option => optionLine(inside, option)),
    ...[...kinds.values()].flatMap(values => {
      const given = action(values);
      return given === '' ? [] : [`complete -c looprig -n ${quoted(inside)} ${given}`];
    }),
  ];
}

function optionLine(condition: string, { flags, summary, values }: CompletedOption): string {
  const names = flags.map(flag => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(' ');
  const value = values === undefined ? '' : ` ${values.kind === 'files' ? '-r' : '-x'} ${action(values)}`;
  return `complete -c looprig -n ${quoted(condition)} ${names}${value.trimEnd()} -d ${quoted(summary)}`.replace(
    / {2,}/g,
    ' ',
  );
}

function action(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `-a ${quoted(values.words.join(' '))}`;
    case 'files':
      return '-F';
    case 'folders':
      return `-a '(__fish_complete_directories)'`;
    case 'sessions':
      return `-k -a '(__looprig_sessions)'`;
    case 'anything':
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`;
}
