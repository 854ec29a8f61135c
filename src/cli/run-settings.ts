/**
 * What a session was run with, kept beside the store: a journal knows neither the folder nor the model, and a turn that is taken up days later
 * must work in the same folder. Only this program's sessions have it.
 */
import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { codeOf } from './error-code.ts';
import type { ReasoningLevel, TurnOptions } from './options.ts';
import type { StorePlace } from './store-place.ts';
import { UsageError } from './usage-error.ts';

/** What holds for a session until something else is said. */
export interface RunSettings {
  /** The configuration whose loop it is, as `--loop` names it; `undefined` for the program's own. */
  readonly loop: string | undefined;
  /** As it was given; a path in it is absolute where it is kept. `undefined`: the loop's own. */
  readonly model: string | undefined;
  /** A folder; absolute where it is kept. `undefined`: where the loop says. */
  readonly workspace: string | undefined;
  readonly allowCommands: boolean;
  /** Servers of tools: commands and addresses. */
  readonly mcp: readonly string[];
  readonly reasoning: ReasoningLevel | undefined;
  /** Calls ask, also where nobody can answer at once. What allows calls is never kept. */
  readonly asks: boolean;
}

/** The folder for what belongs to a store's sessions and is no journal. */
export function runsFolder({ file }: StorePlace): string {
  return `${file}.runs`;
}

/** What the options say; where they say nothing, what the session had; else the defaults. */
export function settle(options: TurnOptions, kept: Partial<RunSettings>): RunSettings {
  return {
    loop: options.loop ?? kept.loop,
    model: options.model ?? kept.model,
    workspace: options.workspace ?? kept.workspace,
    allowCommands: options.allowCommands || kept.allowCommands === true,
    mcp: options.mcp.length > 0 ? options.mcp : (kept.mcp ?? []),
    reasoning: options.reasoning ?? (options.model === undefined ? kept.reasoning : undefined),
    asks: options.approve === undefined ? kept.asks === true : options.approve === 'ask',
  };
}

/** The settings that were kept for a session; nothing where there are none, or none that can be read. */
export async function readSettings(place: StorePlace | undefined, sessionId: string): Promise<Partial<RunSettings>> {
  if (place === undefined) return {};
  try {
    const kept: unknown = JSON.parse(await readFile(settingsFile(place, sessionId), 'utf8'));
    if (typeof kept !== 'object' || kept === null) return {};
    const { loop, model, workspace, allowCommands, reasoning, asks, mcp } = kept as Record<string, unknown>;
    return {
      ...(typeof loop === 'string' && { loop }),
      ...(typeof model === 'string' && { model }),
      ...(typeof workspace === 'string' && { workspace }),
      ...(allowCommands === true && { allowCommands }),
      ...(asks === true && { asks }),
      ...(Array.isArray(mcp) && { mcp: mcp.filter(server => typeof server === 'string') }),
      ...(typeof reasoning === 'string' && { reasoning: reasoning as ReasoningLevel }),
    };
  } catch {
    return {};
  }
}

/** Keeps the settings of a session, for this user's eyes alone: whole, or as they were. */
export async function keepSettings(
  place: StorePlace | undefined,
  sessionId: string,
  settings: RunSettings,
): Promise<void> {
  if (place === undefined) return;
  await makeRunsFolder(place);
  const file = settingsFile(place, sessionId);
  const draft = `${file}.${process.pid}`;
  const { model, workspace } = settings;
  const absolute = {
    model: model && withAbsolutePath(model),
    workspace: workspace === undefined ? undefined : resolve(workspace),
  };
  const text = JSON.stringify({ ...settings, ...absolute });
  await writing(place, async () => {
    await writeFile(draft, `${text}\n`, { mode: 0o600 });
    await rename(draft, file);
  });
}

/** Removes what was kept for a session. */
export async function forgetSettings(place: StorePlace | undefined, sessionId: string): Promise<void> {
  if (place === undefined) return;
  await writing(place, () => rm(settingsFile(place, sessionId), { force: true }));
}

/** Makes the folder, for this user alone. Throws `UsageError` where nothing can be written in it. */
export async function makeRunsFolder(place: StorePlace): Promise<void> {
  const folder = runsFolder(place);
  await writing(place, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  });
}

async function writing(place: StorePlace, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    const which = `${runsFolder(place)}, where a store has what its sessions are run with`;
    throw new UsageError(`${which}, cannot be written (${codeOf(cause)}): it must be a folder of yours`, { cause });
  }
}

/** The file of one session. Ids are of other programs too, so that they are made safe as names. */
function settingsFile(place: StorePlace, sessionId: string): string {
  return join(runsFolder(place), `${encodeURIComponent(sessionId)}.json`);
}

const REPLAY = 'replay:';

function withAbsolutePath(model: string): string {
  return model.startsWith(REPLAY) ? `${REPLAY}${resolve(model.slice(REPLAY.length))}` : model;
}
