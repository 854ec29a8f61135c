/** Completion for bash, from version 4 on. */
import type { CompletedCommand, Values } from './table.ts';

export function bashScript([program, ...commands]: readonly CompletedCommand[]): string {
  const all = program === undefined ? commands : [program, ...commands];
  return `# Completion of looprig for bash: eval "$(looprig completion bash)", in ~/.bashrc
_looprig() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' place=0 at word
  # Bash cuts words at "=" and ":": what stands before tells what is wanted.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    if [[ $word == -* || $word == [=:] || \${COMP_WORDS[at-1]} == [=:] ]]; then continue; fi
    if [[ -z $command ]]; then command=$word; elif ! _looprig_takes_value "$command" "\${COMP_WORDS[at-1]}"; then place=$((place + 1)); fi
  done
  COMPREPLY=()
  if [[ $prev == ':' || $cur == ':' ]]; then
    _looprig_files "\${cur#:}"
    return
  fi
  case "$command $prev" in
${all.flatMap(valueCases).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case "$command" in
${all.map(optionCase).join('\n')}
    esac
    return
  fi
  case "$command $place" in
    ' 0') _looprig_words ${quoted(commands.map(({ name }) => name).join(' '))} ;;
${commands.flatMap(argumentCases).join('\n')}
  esac
}
_looprig_takes_value() {
  case "$1 $2" in
${all.flatMap(takesValueCases).join('\n')}
  esac
  return 1
}
_looprig_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
  if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *[/:=] ]]; then compopt -o nospace; fi
}
_looprig_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$1"); }
_looprig_folders() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$1"); }
_looprig_sessions() {
  _looprig_words "last $("\${COMP_WORDS[0]}" complete-sessions "\${COMP_WORDS[@]:1}" 2>/dev/null | cut -f 1)"
}
complete -F _looprig looprig
`;
}

/** What bash sees as the command: nothing for the program itself. */
const named = ({ name }: CompletedCommand): string => (name === 'looprig' ? '' : name);

function valueCases(command: CompletedCommand): readonly string[] {
  return command.options.flatMap(({ flags, values }) => {
    if (values === undefined) return [];
    const patterns = flags.map(flag => quoted(`${named(command)} ${flag}`)).join(' | ');
    return [`    ${patterns}) ${action(values)}; return ;;`];
  });
}

function takesValueCases(command: CompletedCommand): readonly string[] {
  return command.options.flatMap(({ flags, values }) => {
    if (values === undefined) return [];
    return [`    ${flags.map(flag => quoted(`${named(command)} ${flag}`)).join(' | ')}) return 0 ;;`];
  });
}

function optionCase(command: CompletedCommand): string {
  const flags = command.options.flatMap(option => option.flags);
  return `      ${quoted(named(command))}) _looprig_words ${quoted(flags.join(' '))} ;;`;
}

function argumentCases(command: CompletedCommand): readonly string[] {
  return command.arguments.map(
    ({ values }, index) => `    ${quoted(`${command.name} ${index}`)}) ${action(values)} ;;`,
  );
}

function action(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `_looprig_words ${quoted(values.words.join(' '))}`;
    case 'files':
      return '_looprig_files "$cur"';
    case 'folders':
      return '_looprig_folders "$cur"';
    case 'sessions':
      return '_looprig_sessions';
    case 'anything':
      return ':';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
