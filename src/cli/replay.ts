/** `--model replay:FILE`: a recording played as a model, with stand-ins for its tools. */
import { readFile } from 'node:fs/promises';
import type { ChosenModel } from './models.ts';
import { UsageError } from './usage-error.ts';

/** Loads a recording. Throws `UsageError` for a file that cannot be read or holds none. */
export async function loadReplay(path: string): Promise<ChosenModel> {
  const value = await readJson(path);
  const { replayModel, standInTools } = await import('../testing/index.ts');
  try {
    // What is no recording is refused by the player, with the field that is wrong.
    const recording = value as Parameters<typeof replayModel>[0];
    const model = await replayModel(recording);
    const tools = standInTools(recording);
    const label = `replay of ${recording.name} (${recording.model}, recorded)`;
    return { model, tools, label, defaultPrompt: 'Play the recording.' };
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new UsageError(`${path} cannot be played: ${cause.message}`, { cause });
  }
}

async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new UsageError(`the recording ${path} cannot be read: give the path of a file that exists`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${path} is no recording: it is not JSON`, { cause });
  }
}
