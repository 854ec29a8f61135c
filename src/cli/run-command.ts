/** `looprig run`: one turn on one folder, shown as it goes. */
import { resolve } from 'node:path';
import { defineRig, type Session, type TurnResult, WorkspaceError } from '../index.ts';
import { conclude, EXIT } from './conclude.ts';
import { RUN_HELP } from './help.ts';
import type { Host, StopReason } from './host.ts';
import { type ChosenModel, chooseModel } from './models.ts';
import { parseRunOptions, type RunOptions } from './options.ts';
import { defineRunLoop, MOST_TRIES } from './run-loop.ts';
import type { SecretFilter } from './secrets.ts';
import { UsageError } from './usage-error.ts';
import type { View } from './view.ts';
import { createView, isWatched } from './views.ts';

/** How the command ended. */
export interface CommandEnd {
  readonly exitStatus: number;
  /** Something was left running that may keep the process alive. */
  readonly isLeftRunning: boolean;
  /** What a failed turn threw inside, for `--debug`. */
  readonly error?: unknown;
}

const INTERRUPTED: CommandEnd = Object.freeze({ exitStatus: EXIT.interrupted, isLeftRunning: false });

/** Runs the command. Throws `UsageError` for what cannot be done as asked. `host.stop` interrupts the turn. */
export async function runCommand(args: readonly string[], host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const options = parseRunOptions(args);
  if (options.help) {
    host.stdout.write(RUN_HELP);
    return { exitStatus: EXIT.done, isLeftRunning: false };
  }
  const chosen = await chooseModel(options.model, host.env, isWatched(options, host));
  if (options.reasoning !== undefined && chosen.remote === undefined) {
    throw new UsageError(`--reasoning is for models of providers: leave it out for ${options.model}`);
  }
  const prompt = options.prompt ?? chosen.defaultPrompt;
  if (prompt === undefined) throw new UsageError('there is no prompt: say what is to be done, in quotes');
  const session = await openSession(chosen, options, host);
  try {
    if (host.stop.aborted) return INTERRUPTED;
    return await runTurn(session, prompt, chosen, options, host, secrets);
  } finally {
    await session.close();
  }
}

async function openSession(chosen: ChosenModel, options: RunOptions, { clock }: Host): Promise<Session> {
  const rig = defineRig({
    loops: [defineRunLoop(chosen, options)],
    workspace: options.workspace,
    ...(options.approve === 'all' && { gate: { rules: [{ action: '*', decision: 'allow' }] } }),
    clock,
  });
  try {
    return await rig.open();
  } catch (cause) {
    if (!WorkspaceError.is(cause)) throw cause;
    throw new UsageError(`--workspace: ${cause.message}`, { cause });
  }
}

async function runTurn(
  session: Session,
  prompt: string,
  chosen: ChosenModel,
  options: RunOptions,
  host: Host,
  secrets: SecretFilter,
): Promise<CommandEnd> {
  const view = createView(options, host, secrets);
  view.start({
    model: chosen.label,
    workspace: chosen.tools === undefined ? resolve(options.workspace) : undefined,
    mode: options.mode === 'base' ? '' : options.mode,
    prompt,
    tries: MOST_TRIES,
  });
  const abandon = (): void => view.abandon();
  host.quit.addEventListener('abort', abandon, { once: true });
  const { result, denied } = await followTurn(session, prompt, view, host.stop);
  host.quit.removeEventListener('abort', abandon);
  const end = conclude(result, { denied, remote: chosen.remote });
  view.end(end);
  return {
    exitStatus: end.exitStatus,
    isLeftRunning: result.status !== 'done' && result.leftBehind.length > 0,
    ...(result.status === 'failed' && { error: result.error }),
  };
}

async function followTurn(
  session: Session,
  prompt: string,
  view: View,
  stop: AbortSignal,
): Promise<{ readonly result: TurnResult; readonly denied: number }> {
  const turn = session.submit(prompt);
  const events = turn.subscribe();
  const interrupt = (): void => {
    const reason = stop.reason as StopReason;
    if (reason !== 'output closed') view.notice('interrupting the turn; Ctrl-C again quits at once');
    turn.interrupt(reason);
  };
  stop.addEventListener('abort', interrupt, { once: true });
  let denied = 0;
  try {
    for await (const event of events) {
      if (event.type === 'tool.completed' && event.outcome === 'denied') denied += 1;
      view.event(event);
    }
    return { result: await turn.result, denied };
  } catch (error) {
    view.abandon();
    throw error;
  } finally {
    stop.removeEventListener('abort', interrupt);
  }
}
