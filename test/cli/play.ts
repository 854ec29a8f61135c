/** Plays recordings to the program, through the real provider packages and a server on this machine. */
import { fileURLToPath } from 'node:url';
import type { Recording } from 'looprig/testing';
import { type ReplayOptions, type ReplayServer, startReplay } from '../support/replay-server.ts';
import { type Asked, askedAt } from './at-server.ts';
import { type InTerminal, startInPipe, startInTerminal } from './terminal.ts';

/** Some folder: no model of these tests looks into it. */
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** The arguments of a run that asks this model. */
export function command({ model }: Pick<Asked, 'model'>, options: readonly string[] = []): string[] {
  return ['run', 'hi', '--no-store', '--workspace', FOLDER, '--model', model, ...options];
}

/** What came of a recording that was played. */
interface Played {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly asked: Asked;
  readonly received: ReplayServer['received'];
}

/** Plays a recording to the program, whose output goes elsewhere. */
export async function play(
  recording: Recording,
  options: readonly string[] = [],
  how: ReplayOptions = {},
): Promise<Played> {
  await using server = await startReplay(recording, how);
  const asked = askedAt(server.urlFor(recording.name), recording);
  const { ended, stdout, stderr } = startInPipe(command(asked, options), asked);
  const { exitStatus } = await ended;
  return { status: exitStatus, stdout: stdout(), stderr: stderr(), asked, received: server.received };
}

/** Plays a recording to the program in a terminal. */
export async function playInTerminal(
  recording: Recording,
  options: readonly string[] = [],
  how: ReplayOptions = {},
): Promise<InTerminal & { readonly status: number }> {
  await using server = await startReplay(recording, how);
  const asked = askedAt(server.urlFor(recording.name), recording);
  const program = startInTerminal(command(asked, options), asked);
  return { ...program, status: (await program.ended).exitStatus };
}
