/** Whose turn it is: the names that the spans of a turn bear. */
import type { Attributes } from '@opentelemetry/api';
import type { LoopDefinition } from '../define/loop.ts';
import { ATTRIBUTES } from './names.ts';

/** A loop and its model, as far as they are known. */
export interface Agent {
  readonly name: string | undefined;
  readonly model: string | undefined;
  /** What a span of the turn itself says. */
  readonly ofTurn: Attributes;
  /** What a model call says, as a span and in metrics. */
  readonly ofStep: Attributes;
  /** What any metric says. */
  readonly ofMetrics: Attributes;
}

/** Providers of AI SDK by how their names begin, and what the conventions call them. The first that fits counts. */
const PROVIDERS: readonly (readonly [start: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['azure-openai', 'azure.ai.openai'],
  ['anthropic', 'anthropic'],
  ['openai', 'openai'],
  ['cohere', 'cohere'],
  ['deepseek', 'deepseek'],
  ['groq', 'groq'],
  ['mistral', 'mistral_ai'],
  ['moonshotai', 'moonshot_ai'],
  ['perplexity', 'perplexity'],
  ['xai', 'x_ai'],
];

/** The provider as the conventions call it; one that they do not know keeps its own name. */
export function providerName(provider: string): string {
  const known = PROVIDERS.find(([start]) => provider === start || provider.startsWith(`${start}.`));
  return known?.[1] ?? provider;
}

/** The agent of a turn in this mode; a resumed turn does not say its mode, and then the model is known where all modes share it. */
export function agentOf(loop: LoopDefinition | undefined, mode: string | undefined): Agent {
  if (loop === undefined) return NOBODY;
  const model = modelOf(loop, mode);
  const name = { [ATTRIBUTES.agent]: loop.name };
  const provider = model === undefined ? {} : { [ATTRIBUTES.provider]: providerName(model.provider) };
  const ofStep = model === undefined ? provider : { ...provider, [ATTRIBUTES.model]: model.modelId };
  const { description } = loop;
  const said = description === undefined ? {} : { [ATTRIBUTES.agentDescription]: description };
  return {
    name: loop.name,
    model: model?.modelId,
    ofTurn: { ...name, ...said, ...ofStep },
    ofStep,
    ofMetrics: { ...name, ...provider },
  };
}

const NOBODY: Agent = { name: undefined, model: undefined, ofTurn: {}, ofStep: {}, ofMetrics: {} };

function modelOf({ modes }: LoopDefinition, mode: string | undefined) {
  if (mode !== undefined) return modes.find(({ name }) => name === mode)?.model;
  const models = new Set(modes.map(({ model }) => model));
  return models.size === 1 ? modes[0]?.model : undefined;
}
