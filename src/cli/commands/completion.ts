/** `looprig completion`, as it is called, and what its scripts call back. */
import { Argument, type Command } from 'commander';
import { SHELLS, type Shell } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import { debugOption, withExamples } from './shared.ts';

export function declareCompletion(command: Command, choose: Choose): void {
  const shell = new Argument('<SHELL>', `${SHELLS.slice(0, -1).join(', ')} or ${SHELLS.at(-1)}`).argParser(
    requireShell,
  );
  shell.argChoices = [...SHELLS];
  command
    .summary('complete commands, options and sessions in your shell')
    .description(
      'Writes a script that a shell reads when it starts: then the tab key completes commands, options, their values and sessions.',
    )
    .addArgument(shell)
    .addOption(debugOption())
    .action((given: Shell) => choose({ command: 'completion', options: { shell: given } }));
  withExamples(command, [
    'looprig completion bash >> ~/.bashrc',
    'looprig completion zsh >> ~/.zshrc',
    'looprig completion fish > ~/.config/fish/completions/looprig.fish',
  ]);
}

/** Nobody types it: it takes the words of a line as they are so far. */
export function declareCompleteSessions(command: Command, choose: Choose): void {
  command
    .argument('[WORDS...]')
    .allowUnknownOption()
    .helpOption(false)
    .passThroughOptions()
    .action((words: readonly string[]) => choose({ command: 'complete-sessions', options: { words } }));
}

function requireShell(given: string): Shell {
  const shell = SHELLS.find(known => known === given);
  if (shell !== undefined) return shell;
  throw new UsageError(
    `there is no completion for "${given}": give ${SHELLS.slice(0, -1).join(', ')} or ${SHELLS.at(-1)}`,
  );
}
