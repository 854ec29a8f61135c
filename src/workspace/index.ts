/**
 * The tools of a small agent, all through the workspace binding: they work in one folder and cannot leave it. Reading
 * needs no permission; writing, editing and running a command say what they want to do, and the gate decides.
 *
 * A command is a program like any other: what it does is bounded by the system, not by the workspace.
 */
import type { ToolDefinition } from '../define/tool.ts';
import { defineEditFile } from './edit-file.ts';
import { listFiles } from './list-files.ts';
import { DEFAULT_MAX_FILE_BYTES, resolveOptions, type WorkspaceToolsOptions } from './options.ts';
import { readFile } from './read-file.ts';
import { defineRunCommand } from './run-command.ts';
import { searchText } from './search-text.ts';
import { defineWriteFile } from './write-file.ts';

export type { RunCommandOptions, WorkspaceToolsOptions } from './options.ts';
export { defineRunCommand, listFiles, readFile, searchText };

/** `write_file`: writes a text file as a whole, at most 10 MiB. Asks for `fs.write`. */
export const writeFile: ToolDefinition = defineWriteFile(DEFAULT_MAX_FILE_BYTES);

/** `edit_file`: replaces one piece of text that stands in a file exactly once. Asks for `fs.write`. */
export const editFile: ToolDefinition = defineEditFile(DEFAULT_MAX_FILE_BYTES);

/** `run_command` with a list of arguments and no shell. Asks for `process.run`. `defineRunCommand` makes others. */
export const runCommand: ToolDefinition = defineRunCommand();

/** The workspace tools: all six unless told otherwise. Throws `DefinitionError` `invalid_option`. */
export function workspaceTools(options: WorkspaceToolsOptions = {}): readonly ToolDefinition[] {
  const { readOnly, runCommand: command, maxFileBytes } = resolveOptions(options);
  const tools = [listFiles, readFile, searchText];
  if (!readOnly) {
    // With its defaults a tool is always the same definition, so that lists that are put together hold it once.
    const isDefault = maxFileBytes === DEFAULT_MAX_FILE_BYTES;
    tools.push(
      isDefault ? writeFile : defineWriteFile(maxFileBytes),
      isDefault ? editFile : defineEditFile(maxFileBytes),
    );
  }
  if (command !== undefined)
    tools.push(typeof options.runCommand === 'object' ? defineRunCommand(command) : runCommand);
  return Object.freeze(tools);
}
