/** The options of the workspace tools, resolved once. */
import { readTyped, refuseOption } from '../define/options.ts';
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';

/** How `run_command` runs programs. */
export interface RunCommandOptions {
  /** `true`: the model gives one line for the platform's shell. Default `false`: a list of arguments, and no shell. */
  readonly shell?: boolean;
  /** The longest a command may run, in milliseconds. Default 120,000. The loop's `callTimeoutMs` holds as well. */
  readonly timeoutMs?: number;
  /** How long a command may take to end after SIGTERM, before SIGKILL, in milliseconds. Default 2,000. */
  readonly graceMs?: number;
  /** The bytes kept of each of the two output streams, half from its beginning, half from its end. Default 32,768. */
  readonly outputBytes?: number;
  /** Names of variables of this program's environment that commands get too, beyond the few that programs need to run at all. */
  readonly inheritEnvironment?: readonly string[];
  /** Variables that commands get, with their values. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Which workspace tools there are, and their bounds. */
export interface WorkspaceToolsOptions {
  /** Only the three tools that read. Default false. */
  readonly readOnly?: boolean;
  /** Whether there is `run_command`, and how it runs programs. Default true, unless `readOnly`. */
  readonly runCommand?: boolean | RunCommandOptions;
  /** The largest file that is written or edited, in bytes. Default 10,485,760. Reading has no such bound: it goes piece by piece. */
  readonly maxFileBytes?: number;
}

/** `WorkspaceToolsOptions` with nothing left open. */
export interface ResolvedWorkspaceToolsOptions {
  readonly readOnly: boolean;
  /** `undefined`: there is no such tool. */
  readonly runCommand: Required<RunCommandOptions> | undefined;
  readonly maxFileBytes: number;
}

/** What `run_command` does unless told otherwise. */
const DEFAULT_RUN_COMMAND: Required<RunCommandOptions> = Object.freeze({
  shell: false,
  timeoutMs: 120_000,
  graceMs: 2_000,
  outputBytes: 32_768,
  inheritEnvironment: Object.freeze([]),
  environment: Object.freeze({}),
});

const RUN_COMMAND_OPTIONS = [
  ...(['shell', 'timeoutMs', 'graceMs', 'outputBytes', 'inheritEnvironment', 'environment'] as const),
] as const;

/** The largest file that is written or edited unless told otherwise. */
export const DEFAULT_MAX_FILE_BYTES = 10_485_760;

/** Checks the options and fills in the defaults. Throws `DefinitionError` `invalid_option`. */
export function resolveOptions(given: WorkspaceToolsOptions): ResolvedWorkspaceToolsOptions {
  const known = ['readOnly', 'runCommand', 'maxFileBytes'] as const;
  const options = readTyped(given, known, 'workspaceTools');
  const { readOnly = false, maxFileBytes = DEFAULT_MAX_FILE_BYTES } = options;
  requireBoolean(readOnly, 'readOnly');
  requireCount(maxFileBytes, 'maxFileBytes', 1);
  const { runCommand = !readOnly } = options;
  if (readOnly && runCommand !== false) {
    throw refused(
      'runCommand',
      'runCommand: a command may write, so it cannot go with readOnly: leave one of them out',
      runCommand,
    );
  }
  if (runCommand === false) return { readOnly, maxFileBytes, runCommand: undefined };
  return { readOnly, maxFileBytes, runCommand: resolveRunCommand(runCommand === true ? {} : runCommand) };
}

/** Checks the options of `run_command` and fills in the defaults. Throws `DefinitionError` `invalid_option`. */
export function resolveRunCommand(options: RunCommandOptions): Required<RunCommandOptions> {
  const read = readTyped(options, RUN_COMMAND_OPTIONS, 'runCommand', (field, message, details) =>
    refuseOption(field === '' ? 'runCommand' : field, message, details),
  );
  const given = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
  const resolved: Required<RunCommandOptions> = { ...DEFAULT_RUN_COMMAND, ...given };
  requireBoolean(resolved.shell, 'runCommand.shell');
  requireCount(resolved.timeoutMs, 'runCommand.timeoutMs', 1);
  requireCount(resolved.graceMs, 'runCommand.graceMs', 0);
  requireCount(resolved.outputBytes, 'runCommand.outputBytes', 256);
  const { inheritEnvironment, environment } = resolved;
  if (!Array.isArray(inheritEnvironment) || inheritEnvironment.some(name => typeof name !== 'string')) {
    const field = 'runCommand.inheritEnvironment';
    throw refused(
      field,
      `${field} must be a list of variable names, not ${show(inheritEnvironment)}`,
      inheritEnvironment,
    );
  }
  requireObject(environment, 'runCommand.environment');
  for (const [name, value] of Object.entries(environment)) {
    const field = `runCommand.environment.${name}`;
    // The value may be a secret, so that the message does not show it.
    if (typeof value !== 'string') throw refused(field, `${field} must be a string, not ${typeof value}`, undefined);
  }
  return Object.freeze({
    ...resolved,
    inheritEnvironment: Object.freeze([...inheritEnvironment]),
    environment: Object.freeze({ ...environment }),
  });
}

function requireObject(value: unknown, field: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused(field, `${field} must be an object, not ${show(value)}`, value);
  }
}

function requireBoolean(value: unknown, field: string): void {
  if (typeof value !== 'boolean') throw refused(field, `${field} must be true or false, not ${show(value)}`, value);
}

/** The longest that a platform timer can wait is 2^31 - 1 ms; bytes are bounded alike. */
const MOST = 2_147_483_647;

function requireCount(value: unknown, field: string, least: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= MOST) return;
  throw refused(field, `${field} must be a whole number from ${least} to ${MOST}, not ${show(value)}`, value);
}

function refused(field: string, message: string, value: unknown): DefinitionError {
  return new DefinitionError('invalid_option', { field, message, value });
}
