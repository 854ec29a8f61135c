/** The program: which command was asked for, and what becomes of its errors. */
import { GateError, JournalConflictError } from '../index.ts';
import { reasonOf } from '../reason.ts';
import { type CommandEnd, DONE } from './command.ts';
import { readCommandLine } from './command-line.ts';
import { EXIT } from './conclude.ts';
import type { Host, ProgramHost } from './host.ts';
import { withOpened } from './opened.ts';
import type { Order } from './order.ts';
import { readVersion } from './own-package.ts';
import { neutralise, oneLine } from './safe-text.ts';
import { SecretFilter } from './secrets.ts';
import { SessionInUseError } from './session-lock.ts';
import { UsageError } from './usage-error.ts';
import { columnsOf } from './views.ts';

/** How wide help is at the most: longer lines are hard to read. */
const MOST_COLUMNS = 90;

/** Runs the program with its arguments. Never rejects: an error is one sentence on standard error, with its stack under `--debug`. */
export async function runProgram(args: readonly string[], host: ProgramHost): Promise<CommandEnd> {
  const secrets = new SecretFilter(host.env);
  const isDebug = args.includes('--debug');
  try {
    requireNode(process.versions.node);
    const columns = Math.min(columnsOf(host.stdout), MOST_COLUMNS);
    const order = readCommandLine(args, { version: await readVersion(), columns });
    const end = await withOpened(opened => carryOut(order, { ...host, opened }, secrets));
    if (isDebug && end.error !== undefined) host.stderr.write(stackOf(end.error, secrets));
    return end;
  } catch (error) {
    const message = reasonOf(error);
    host.stderr.write(`looprig: ${oneLine(message, secrets)}\n`);
    if (isDebug) host.stderr.write(stackOf(error, secrets));
    return { exitStatus: statusOf(error), isLeftRunning: false };
  }
}

function statusOf(error: unknown): number {
  if (error instanceof UsageError || GateError.is(error)) return EXIT.usage;
  return error instanceof SessionInUseError || JournalConflictError.is(error) ? EXIT.inUse : EXIT.failed;
}

/** The work of a command is loaded when it is asked for: help, and the completion of words, have nothing to wait for. */
async function carryOut(order: Order, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  switch (order.command) {
    case 'print':
      host.stdout.write(order.text);
      return DONE;
    case 'run':
      return (await import('./run-command.ts')).runCommand(order.options, host, secrets);
    case 'chat':
      return (await import('./chat-command.ts')).chatCommand(order.options, host, secrets);
    case 'sessions':
      return (await import('./sessions-command.ts')).sessionsCommand(order.options, host, secrets);
    case 'show':
      return (await import('./show-command.ts')).showCommand(order.options, host, secrets);
    case 'resume':
      return (await import('./resume-command.ts')).resumeCommand(order.options, host, secrets);
    case 'answer':
      return (await import('./answer-command.ts')).answerCommand(order.options, host, secrets);
    case 'delete':
      return (await import('./delete-command.ts')).deleteCommand(order.options, host, secrets);
    case 'report':
      return (await import('./report-command.ts')).reportCommand(order.options, host, secrets);
    case 'serve':
      return (await import('./serve-command.ts')).serveCommand(order.options, host, secrets);
    case 'worker':
      return (await import('./serve-command.ts')).workerCommand(order.options, host, secrets);
    case 'check':
      return (await import('./check-command.ts')).checkCommand(order.options, host, secrets);
    case 'init':
      return (await import('./init-command.ts')).initCommand(order.options, host);
    case 'completion':
      return (await import('./completion-command.ts')).completionCommand(order.options, host);
    case 'complete-sessions':
      return (await import('./complete-sessions-command.ts')).completeSessionsCommand(order.options, host, secrets);
  }
}

/** Throws `UsageError` for a version of Node that is too old, which would fail later in a way that says nothing. */
export function requireNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new UsageError(`Node ${version} is too old: install Node 22.13 or later`);
}

/** Where an error came from, and what caused it. Only stacks: other fields of a provider's error may hold requests. */
function stackOf(error: unknown, secrets: SecretFilter): string {
  const stacks: string[] = [];
  for (let at = error; at instanceof Error && stacks.length < 5; at = at.cause) stacks.push(at.stack ?? at.message);
  return `${neutralise(secrets.clean(stacks.join('\ncaused by: ')))}\n`;
}
