/** The loop that `looprig run` runs. */
import { defineLoop, type LoopDefinition, type ModelSettings, type ToolDefinition } from '../index.ts';
import { workspaceTools } from '../workspace/index.ts';
import type { ChosenModel } from './models.ts';
import type { TurnOptions } from './options.ts';
import type { RunSettings } from './run-settings.ts';

const SYSTEM = `You answer questions about one folder and work in it, through the tools that you are given.
Look before you answer: list, search and read what the question needs, and ask for several files in one step where they do not depend on each other.
Say in plain words what you found, and say so where you could not find something out.`;

/** How often a request that failed is made again. */
const MODEL_RETRIES = 2;

/** How often a request of it is made at the most. */
export const MOST_TRIES: number = MODEL_RETRIES + 1;

/** The ways in which it can work. */
type ModeName = 'base' | 'read-only';

const READ_ONLY = 'You may only read: change nothing, and say what you would change instead.';

/** The loop for these options: the workspace tools and those of servers, or those that came with the model, in two modes. */
export function defineRunLoop(
  chosen: ChosenModel,
  { stream }: Pick<TurnOptions, 'stream'>,
  run: RunSettings,
  servers: readonly ToolDefinition[],
): LoopDefinition<'run', ModeName> {
  const { model, tools } = chosen;
  const { allowCommands } = run;
  return defineLoop({
    name: 'run',
    model,
    system: SYSTEM,
    tools: tools ?? [...workspaceTools({ runCommand: allowCommands }), ...servers],
    stream,
    settings: settings(chosen, run),
    modelRetries: MODEL_RETRIES,
    // A person who waits for an answer is better served by one from what was found than by none.
    atLimit: 'answer',
    modes: {
      base: {},
      'read-only': { tools: tools ?? workspaceTools({ readOnly: true }), instructions: READ_ONLY },
    },
    initialMode: 'base',
  });
}

/** Some models reason only if they are asked to, and some show it only if that is asked for too. */
function settings({ remote }: ChosenModel, { reasoning }: RunSettings): ModelSettings {
  if (reasoning === undefined) return {};
  const showReasoning = reasoning === 'none' ? undefined : remote?.showReasoning;
  return { reasoning, ...(showReasoning !== undefined && { providerOptions: showReasoning }) };
}
