/** `looprig completion`: what a shell is told; and what it asks back, the sessions that there are. */
import { type CommandEnd, DONE } from './command.ts';
import { declareProgram } from './command-line.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { type CompletedCommand, completionTable } from './completion/table.ts';
import { zshScript } from './completion/zsh.ts';
import type { Host } from './host.ts';
import type { Shell } from './options.ts';

const SCRIPTS: Readonly<Record<Shell, (table: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Writes the script for a shell. */
export function completionCommand({ shell }: { readonly shell: Shell }, { stdout }: Host): CommandEnd {
  const program = declareProgram({ version: '', columns: 80, print: () => {} }, () => {});
  stdout.write(SCRIPTS[shell](completionTable(program)));
  return DONE;
}
