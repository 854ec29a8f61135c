/** Providers whose models are named `provider/name`. Their packages are loaded when they are asked for, so that none has to be installed. */
import type { AnyLanguageModel, ModelSettings } from '../index.ts';
import { KEY_VARIABLES } from './secrets.ts';

/** What a provider's package is told. */
interface ProviderSettings {
  readonly apiKey: string;
  /** Where the provider is asked, if it is not its own address. */
  readonly baseURL?: string;
}

/** One provider. */
export interface Provider {
  readonly keyVariable: string;
  /** The environment variable that gives another address than the provider's own. */
  readonly addressVariable: string;
  /** The package and the version of it that is known to work. */
  readonly install: string;
  /** What has to be asked for beside `reasoning`, if reasoning is to be seen and not only done. */
  readonly showReasoning?: ModelSettings['providerOptions'];
  /** Loads the package; what it gives makes a model. */
  load(): Promise<(settings: ProviderSettings) => (name: string) => AnyLanguageModel>;
}

/** The providers by the name that stands before the slash. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  [
    'anthropic',
    {
      keyVariable: KEY_VARIABLES.anthropic,
      addressVariable: 'ANTHROPIC_BASE_URL',
      install: '@ai-sdk/anthropic@4',
      load: async () => (await import('@ai-sdk/anthropic')).createAnthropic,
    },
  ],
  [
    'openai',
    {
      keyVariable: KEY_VARIABLES.openai,
      addressVariable: 'OPENAI_BASE_URL',
      install: '@ai-sdk/openai@4',
      load: async () => (await import('@ai-sdk/openai')).createOpenAI,
    },
  ],
  [
    'google',
    {
      keyVariable: KEY_VARIABLES.google,
      addressVariable: 'GOOGLE_GENERATIVE_AI_BASE_URL',
      install: '@ai-sdk/google@4',
      showReasoning: { google: { thinkingConfig: { includeThoughts: true } } },
      load: async () => (await import('@ai-sdk/google')).createGoogle,
    },
  ],
]);
