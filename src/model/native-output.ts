/** Which models give an answer by a schema themselves, in the same request in which they may call tools. */
import type { AnyLanguageModel } from './model.ts';

/** Models of one provider package that take `responseFormat` with a schema. */
interface NativeModels {
  /** The beginning of the model's `provider`. */
  readonly provider: string;
  /** The models that take a schema beside tools. */
  readonly withTools: RegExp;
  /** The models that take a schema where there are no tools; those above unless said otherwise. */
  readonly alone?: RegExp;
  /** The oldest specification whose packages ask for it natively by themselves. */
  readonly since: 'v2' | 'v3' | 'v4';
}

/**
 * From the providers' documents on structured outputs and from what their packages do (`@ai-sdk/openai` 4.0, `@ai-sdk/anthropic`
 * 4.0, 3.0 and 2.0, `@ai-sdk/google` 4.0): OpenAI from gpt-4o-2024-08-06 on, Anthropic from Opus 4.1 and Sonnet 4.5 on, Gemini
 * beside function tools from version 3 on.
 */
const NATIVE: readonly NativeModels[] = [
  {
    provider: 'openai.',
    withTools:
      /^(ft:)?(gpt-4o(?!-2024-05-13|-audio|-realtime|-search)|gpt-4\.\d|gpt-[5-9]|o1(?!-mini|-preview)|o[3-9])/,
    since: 'v2',
  },
  {
    provider: 'azure.', // deployments have names of their own, so that a name which says nothing is taken for none
    withTools: /^(gpt-4o|gpt-4\.\d|gpt-[5-9]|o[3-9])/,
    since: 'v2',
  },
  {
    provider: 'anthropic.', // the package of specification v2 makes a tool of the schema, as looprig does
    withTools: /claude-(opus-4-1|[a-z]+-4-[5-9](?!\d)|[a-z]+-[5-9](?!\d))/,
    since: 'v3',
  },
  {
    provider: 'google.generative-ai',
    withTools: /^(models\/)?gemini-([3-9]|\d\d)/,
    alone: /^(models\/)?gemini-([2-9]|\d\d)/,
    since: 'v2',
  },
];

const AGE: readonly string[] = ['v2', 'v3', 'v4'];

/**
 * Whether the model gives its answer by a schema natively, beside tools if `hasTools`. A model that says so itself
 * (`supportsStructuredOutputs`, as of `@ai-sdk/openai-compatible`) is believed; else the table above decides, and a model that
 * is not in it does not.
 */
export function takesNativeOutput(model: AnyLanguageModel, hasTools: boolean): boolean {
  const said: unknown = Reflect.get(model, 'supportsStructuredOutputs');
  if (typeof said === 'boolean') return said;
  const { provider, modelId, specificationVersion } = model;
  const known = NATIVE.find(native => provider.startsWith(native.provider));
  if (known === undefined || AGE.indexOf(specificationVersion) < AGE.indexOf(known.since)) return false;
  return (hasTools ? known.withTools : (known.alone ?? known.withTools)).test(modelId);
}
