/** The provider packages of three generations of the AI SDK, and the models that they make for a recording. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyLanguageModel } from 'looprig';
import type { Recording } from 'looprig/testing';

/** A generation by the number of its AI SDK: 7 gives models of specification v4, 6 of v3, 5 of v2. */
export type Generation = 7 | 6 | 5;

/** All of them, the newest first. */
export const GENERATIONS: readonly Generation[] = [7, 6, 5];

/** The packages that recordings are played with. */
export const PROVIDERS = ['anthropic', 'openai', 'google', 'openai-compatible'] as const;

type Provider = (typeof PROVIDERS)[number];

/** What every provider is made with. */
interface Settings {
  readonly baseURL: string;
  readonly apiKey: string;
}

type CreateModel = (settings: Settings, recording: Recording) => Promise<AnyLanguageModel>;

const isResponses = ({ api }: Recording): boolean => api === 'openai-responses';

const CREATE: { readonly [G in Generation]: { readonly [P in Provider]: CreateModel } } = {
  7: {
    anthropic: async (settings, { model }) => (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model),
    google: async (settings, { model }) => (await import('@ai-sdk/google')).createGoogle(settings)(model),
    openai: async (settings, recording) => {
      const openai = (await import('@ai-sdk/openai')).createOpenAI(settings);
      return isResponses(recording) ? openai.responses(recording.model) : openai.chat(recording.model);
    },
    'openai-compatible': async (settings, { model }) =>
      (await import('@ai-sdk/openai-compatible'))
        .createOpenAICompatible({ name: 'replay', ...settings })
        .chatModel(model),
  },
  6: {
    anthropic: async (settings, { model }) => (await import('ai-sdk-6-anthropic')).createAnthropic(settings)(model),
    google: async (settings, { model }) => (await import('ai-sdk-6-google')).createGoogleGenerativeAI(settings)(model),
    openai: async (settings, recording) => {
      const openai = (await import('ai-sdk-6-openai')).createOpenAI(settings);
      return isResponses(recording) ? openai.responses(recording.model) : openai.chat(recording.model);
    },
    'openai-compatible': async (settings, { model }) =>
      (await import('ai-sdk-6-openai-compatible'))
        .createOpenAICompatible({ name: 'replay', ...settings })
        .chatModel(model),
  },
  5: {
    anthropic: async (settings, { model }) => (await import('ai-sdk-5-anthropic')).createAnthropic(settings)(model),
    google: async (settings, { model }) => (await import('ai-sdk-5-google')).createGoogleGenerativeAI(settings)(model),
    openai: async (settings, recording) => {
      const openai = (await import('ai-sdk-5-openai')).createOpenAI(settings);
      return isResponses(recording) ? openai.responses(recording.model) : openai.chat(recording.model);
    },
    'openai-compatible': async (settings, { model }) =>
      (await import('ai-sdk-5-openai-compatible'))
        .createOpenAICompatible({ name: 'replay', ...settings })
        .chatModel(model),
  },
};

/** The recording's model, made by the package of that generation, which sends its requests to `url`. */
export async function createModel(
  recording: Recording,
  generation: Generation,
  url: string,
): Promise<AnyLanguageModel> {
  const provider = PROVIDERS.find(name => name === recording.provider);
  if (provider === undefined) throw new TypeError(`no package is known for provider "${recording.provider}"`);
  const version = provider === 'google' ? 'v1beta' : 'v1';
  return CREATE[generation][provider]({ baseURL: `${url}/${version}`, apiKey: 'replay' }, recording);
}

/** The version of the package that is installed. */
export function installedVersion(provider: Provider, generation: Generation): string {
  const folder = generation === 7 ? `@ai-sdk/${provider}` : `ai-sdk-${generation}-${provider}`;
  const file = join(import.meta.dirname, '../../node_modules', folder, 'package.json');
  return String(JSON.parse(readFileSync(file, 'utf8')).version);
}
