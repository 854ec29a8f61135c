/** The provider packages that recordings are played with. Each is imported when it is needed, so that none has to be installed. */
import type { LanguageModel } from '../model/model.ts';
import type { Recording } from './recording.ts';

/** What stands where an address and a key would; nothing is ever sent there. */
const settings = (version: string, fetch: typeof globalThis.fetch) => ({
  baseURL: `https://replay.invalid/${version}`,
  apiKey: 'replay',
  fetch,
});

type CreateModel = (recording: Recording, fetch: typeof globalThis.fetch) => Promise<LanguageModel>;

const PROVIDERS: ReadonlyMap<string, CreateModel> = new Map<string, CreateModel>([
  [
    'anthropic',
    async ({ model }, fetch) => (await import('@ai-sdk/anthropic')).createAnthropic(settings('v1', fetch))(model),
  ],
  [
    'openai',
    async ({ model, api }, fetch) => {
      const openai = (await import('@ai-sdk/openai')).createOpenAI(settings('v1', fetch));
      return api === 'openai-responses' ? openai.responses(model) : openai.chat(model);
    },
  ],
  [
    'google',
    async ({ model }, fetch) => (await import('@ai-sdk/google')).createGoogle(settings('v1beta', fetch))(model),
  ],
  [
    'openai-compatible',
    async ({ model }, fetch) => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({ name: 'replay', ...settings('v1', fetch) }).chatModel(model);
    },
  ],
]);

/** The recording's model, made by its provider package. Rejects with `TypeError` for a provider that is unknown or not installed. */
export async function createProvider(recording: Recording, fetch: typeof globalThis.fetch): Promise<LanguageModel> {
  const create = PROVIDERS.get(recording.provider);
  if (create === undefined) {
    const known = [...PROVIDERS.keys()].join(', ');
    throw new TypeError(`"provider" of a recording must be one of ${known}, not "${recording.provider}"`);
  }
  try {
    return await create(recording, fetch);
  } catch (cause) {
    const name = `@ai-sdk/${recording.provider}`;
    throw new TypeError(`to play recording "${recording.name}", install the package ${name}`, { cause });
  }
}
