/** The program: which command was asked for, and what becomes of its errors. */
import { readFile } from 'node:fs/promises';
import { GateError, JournalConflictError } from '../index.ts';
import { answerCommand } from './answer-command.ts';
import { type CommandEnd, DONE } from './command.ts';
import { EXIT } from './conclude.ts';
import { HELP } from './help.ts';
import type { Host } from './host.ts';
import { resumeCommand } from './resume-command.ts';
import { runCommand } from './run-command.ts';
import { neutralise, oneLine } from './safe-text.ts';
import { SecretFilter } from './secrets.ts';
import { SessionInUseError } from './session-lock.ts';
import { sessionsCommand } from './sessions-command.ts';
import { showCommand } from './show-command.ts';
import { UsageError } from './usage-error.ts';

/** Runs the program with its arguments. Never rejects: an error is one sentence on standard error, with its stack under `--debug`. */
export async function runProgram(args: readonly string[], host: Host): Promise<CommandEnd> {
  const secrets = new SecretFilter(host.env);
  const isDebug = args.includes('--debug');
  try {
    requireNode(process.versions.node);
    const end = await dispatch(args, host, secrets);
    if (isDebug && end.error !== undefined) host.stderr.write(stackOf(end.error, secrets));
    return end;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    host.stderr.write(`looprig: ${oneLine(message, secrets)}\n`);
    if (isDebug) host.stderr.write(stackOf(error, secrets));
    return { exitStatus: statusOf(error), isLeftRunning: false };
  }
}

function statusOf(error: unknown): number {
  if (error instanceof UsageError || GateError.is(error)) return EXIT.usage;
  return error instanceof SessionInUseError || JournalConflictError.is(error) ? EXIT.inUse : EXIT.failed;
}

const COMMANDS = 'run, sessions, show, resume, answer';

async function dispatch(args: readonly string[], host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const [command, ...rest] = args;
  switch (command) {
    case 'run':
      return runCommand(rest, host, secrets);
    case 'sessions':
      return sessionsCommand(rest, host, secrets);
    case 'show':
      return showCommand(rest, host, secrets);
    case 'resume':
      return resumeCommand(rest, host, secrets);
    case 'answer':
      return answerCommand(rest, host, secrets);
    case '--help':
    case '-h':
      host.stdout.write(HELP);
      break;
    case '--version':
    case '-v':
      host.stdout.write(`${await readVersion()}\n`);
      break;
    case undefined:
      throw new UsageError('there is no command: "looprig run" works on a folder, "looprig --help" says more');
    default: {
      const kind = command.startsWith('-') ? 'option' : 'command';
      throw new UsageError(`there is no ${kind} "${command}": there are ${COMMANDS}, --help and --version`);
    }
  }
  return DONE;
}

/** Throws `UsageError` for a version of Node that is too old, which would fail later in a way that says nothing. */
export function requireNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new UsageError(`Node ${version} is too old: install Node 22.13 or later`);
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}

/** Where an error came from, and what caused it. Only stacks: other fields of a provider's error may hold requests. */
function stackOf(error: unknown, secrets: SecretFilter): string {
  const stacks: string[] = [];
  for (let at = error; at instanceof Error && stacks.length < 5; at = at.cause) stacks.push(at.stack ?? at.message);
  return `${neutralise(secrets.clean(stacks.join('\ncaused by: ')))}\n`;
}
