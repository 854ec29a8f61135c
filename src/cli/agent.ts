/** What the sessions of a command run: the program's own loop on a folder, or loops of the user's own. */
import { resolve } from 'node:path';
import type { GateOptions, JournalStore, LoopDefinition, RigOptions, ToolDefinition } from '../index.ts';
import type { Host } from './host.ts';
import { type LoopFile, loadLoopFile, requireLoop } from './loop-file.ts';
import { serverTools } from './mcp-servers.ts';
import { type ChosenModel, chooseModel, type Remote } from './models.ts';
import type { TurnOptions } from './options.ts';
import { defineRunLoop } from './run-loop.ts';
import type { RunSettings } from './run-settings.ts';
import type { SecretFilter } from './secrets.ts';
import { UsageError } from './usage-error.ts';
import { isWatched } from './views.ts';

/** What does the work, but for where its sessions are kept and who is asked. */
export interface Agent {
  /** What a rig is made of. */
  readonly rig: Omit<RigOptions<readonly LoopDefinition[]>, 'store' | 'gate' | 'clock'>;
  /** The loop that a new session runs. */
  readonly loop: LoopDefinition;
  /** Who may do what, before `--approve` is heard. */
  readonly gate: GateOptions | undefined;
  /** A store of the user's own. */
  readonly store: JournalStore | undefined;
  /** What it was made with: what holds for the session from now on. */
  readonly settings: RunSettings;
  /** The model, in words. */
  readonly label: string;
  /** Who answers; `undefined` where that is not known, or it is nobody elsewhere. */
  readonly remote: Remote | undefined;
  /** The folder to show; `undefined` where no tool needs one. */
  readonly workspace: string | undefined;
  /** What is asked where nothing was; `undefined` where something must be. */
  readonly defaultPrompt: string | undefined;
}

type Given = Pick<TurnOptions, 'stream' | 'json' | 'quiet'>;

/**
 * The agent for these settings. Of a file with several loops one has to be meant, unless it is for all of them. Throws `UsageError` for what cannot be had as asked.
 */
export async function agentFor(
  settings: RunSettings,
  options: Given,
  host: Host,
  secrets: SecretFilter,
  which: 'one' | 'all' = 'one',
): Promise<Agent> {
  const { loop } = settings;
  if (loop === undefined) return ownAgent(settings, options, host);
  const file = await loadLoopFile(loop);
  learnSecrets(file, secrets);
  return fileAgent(which === 'one' ? { ...file, loop: requireLoop(file) } : file, settings, options, host);
}

/** What the tools of a configuration may read and nobody may see. Only those that are listed can be known. */
function learnSecrets({ config }: LoopFile, filter: SecretFilter): void {
  if (config.secrets === undefined || typeof config.secrets.get === 'function') return;
  filter.learn(Object.values(config.secrets));
}

/** The mode of a loop that `given` means: `base` is the base mode where no other has that name. Throws `UsageError` for none. */
export function requireMode({ modes }: LoopDefinition, given: string): string {
  const names = modes.map(({ name }) => name);
  if (names.includes(given)) return given;
  if (given === 'base') return '';
  const known = ['base', ...names.filter(name => name !== '' && name !== 'base')];
  throw new UsageError(`there is no mode "${given}": give ${known.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`);
}

/** How often a request of this agent is made at the most. */
export function mostTries({ loop }: Pick<Agent, 'loop'>): number {
  return loop.behaviour.modelRetries + 1;
}

async function ownAgent(settings: RunSettings, options: Given, host: Host): Promise<Agent> {
  const { reasoning, mcp, workspace = '.' } = settings;
  const choice = settings.model ?? 'demo';
  const chosen = await chooseModel(choice, host.env, isWatched(options, host));
  if (reasoning !== undefined && chosen.remote === undefined) {
    throw new UsageError(`--reasoning is for models of providers: leave it out for ${choice}`);
  }
  const loop = defineRunLoop(chosen, options, settings, await serverTools(mcp));
  return {
    ...{ loop, label: chosen.label, remote: chosen.remote, defaultPrompt: chosen.defaultPrompt },
    ...{ rig: { loops: [loop], workspace }, gate: undefined, store: undefined },
    settings: { ...settings, model: choice, workspace },
    workspace: chosen.tools === undefined ? resolve(workspace) : undefined,
  };
}

/** The loops of a file, with what the command line says of them: another model, more tools, another folder. */
async function fileAgent(file: LoopFile, settings: RunSettings, options: Given, host: Host): Promise<Agent> {
  if (settings.allowCommands) {
    throw new UsageError(
      `--allow-commands is for looprig's own loop: give ${file.shown} the tool "run_command" instead`,
    );
  }
  const { config } = file;
  const chosen =
    settings.model === undefined ? undefined : await chooseModel(settings.model, host.env, isWatched(options, host));
  const servers = await serverTools(settings.mcp);
  const loops = config.loops.map(loop => adapted(loop, { chosen, servers, settings, options }));
  const loop = loops.find(({ name }) => name === file.loop?.name) ?? loops[0]!;
  const workspace = settings.workspace ?? config.workspace ?? '.';
  const { store, gate, workspace: _, ...rest } = config;
  const needsFolder = loop.tools().some(({ requires }) => requires.includes('workspace'));
  return {
    ...{ loop, gate, store, rig: { ...rest, loops, workspace } },
    settings: {
      ...settings,
      loop: file.argument,
      ...(config.workspace === undefined && { workspace: String(workspace) }),
    },
    label: chosen?.label ?? `${loop.model.provider}/${loop.model.modelId}`,
    remote: chosen?.remote,
    workspace: needsFolder ? (typeof workspace === 'string' ? resolve(workspace) : workspace.root) : undefined,
    defaultPrompt: undefined,
  };
}

interface Adaptation {
  readonly chosen: ChosenModel | undefined;
  readonly servers: readonly ToolDefinition[];
  readonly settings: RunSettings;
  readonly options: Given;
}

/** A loop with what was said of it; itself where nothing was. */
function adapted(loop: LoopDefinition, { chosen, servers, settings, options }: Adaptation): LoopDefinition {
  const { reasoning } = settings;
  const changes = {
    ...(chosen !== undefined && { model: chosen.model }),
    ...(servers.length > 0 && { tools: servers }),
    ...(!options.stream && { stream: false }),
    ...(reasoning !== undefined && { settings: { ...loop.settings, reasoning } }),
  };
  return Object.keys(changes).length === 0 ? loop : loop.extend(changes);
}
