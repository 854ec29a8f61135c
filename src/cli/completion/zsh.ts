/** Completion for zsh. */
import type { CompletedCommand, CompletedOption, Values } from './table.ts';

export function zshScript([program, ...commands]: readonly CompletedCommand[]): string {
  return `#compdef looprig
# Completion of looprig for zsh: eval "$(looprig completion zsh)", in ~/.zshrc after compinit
_looprig_sessions() {
  local -a sessions
  sessions=('last:the latest' \${\${(f)"$($_looprig_program complete-sessions \${words[2,-1]} 2>/dev/null)"}/$'\\t'/:})
  _describe -t sessions session sessions
}
_looprig_commands() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  _describe -t commands command commands
}
_looprig() {
  local _looprig_program=$words[1] state line
  typeset -A opt_args
  _arguments -C ${(program?.options ?? []).map(optionSpec).join(' ')} '1:command:_looprig_commands' '*::argument:->argument'
  [[ $state == argument ]] || return
  case $line[1] in
${commands.map(commandCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _looprig ]]; then _looprig "$@"; else compdef _looprig looprig; fi
`;
}

function commandCase(command: CompletedCommand): string {
  const specs = [
    ...command.options.map(optionSpec),
    ...command.arguments.map(({ name, values }, index) => quoted(`${index + 1}::${name}:${action(values)}`)),
  ];
  return `    ${command.name})\n      _arguments \\\n        ${specs.join(' \\\n        ')} ;;`;
}

/** \`'--model=[which]:MODEL:(…)'\`; with several flags, each keeps out the others. */
function optionSpec({ flags, summary, values, repeats }: CompletedOption): string {
  const said = `[${summary.replace(/[[\]:]/g, '\\$&')}]`;
  const value = values === undefined ? '' : `:value:${action(values)}`;
  if (repeats) return quoted(`*${flags[0]}=${said}${value}`);
  const ending = values === undefined ? '' : '=';
  if (flags.length === 1) return quoted(`${flags[0]}${ending}${said}${value}`);
  return `${quoted(`(${flags.join(' ')})`)}{${flags.map(flag => `${flag}${ending}`).join(',')}}${quoted(`${said}${value}`)}`;
}

function action(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `(${values.words.map(word => word.replace(/[:()]/g, '\\$&')).join(' ')})`;
    case 'files':
      return '_files';
    case 'folders':
      return '_files -/';
    case 'sessions':
      return '_looprig_sessions';
    case 'anything':
      return ' ';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
