/** How the program is told to ask a server that plays a recording. */
import type { Recording } from 'looprig/testing';

/** The key that the program is given: it must never come out again. */
export const KEY = 'sk-fake-0123456789abcdef';

/** What the program is started with. */
export interface Asked {
  /** The value for `--model`. */
  readonly model: string;
  /** The variables of the key and the address. */
  readonly env: Readonly<Record<string, string>>;
  /** The variable of the key. */
  readonly keyVariable: string;
}

/** How a recording is asked for where it is played at `url`. Chat completions are asked for by their address, whoever recorded them. */
export function askedAt(url: string, { provider, api, model }: Pick<Recording, 'provider' | 'api' | 'model'>): Asked {
  if (provider === 'anthropic')
    return ofProvider('anthropic', model, 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', `${url}/v1`);
  if (api === 'openai-responses') return ofProvider('openai', model, 'OPENAI_API_KEY', 'OPENAI_BASE_URL', `${url}/v1`);
  if (provider === 'google') {
    const [key, address] = ['GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_GENERATIVE_AI_BASE_URL'];
    return ofProvider('google', model, key, address, `${url}/v1beta`);
  }
  const keyVariable = 'LOOPRIG_API_KEY';
  return { model: `compatible:${url}/v1#${model}`, env: { [keyVariable]: KEY }, keyVariable };
}

function ofProvider(provider: string, model: string, keyVariable: string, addressVariable: string, url: string): Asked {
  return { model: `${provider}/${model}`, env: { [keyVariable]: KEY, [addressVariable]: url }, keyVariable };
}
