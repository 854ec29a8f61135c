/** Which things are models, and which model one is. */
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';
import { adaptModel } from './adapt.ts';
import type { AnyLanguageModel, LanguageModel } from './model.ts';

/** What tells one model from another. */
export interface ModelIdentity {
  readonly provider: string;
  readonly modelId: string;
  readonly specificationVersion: string;
}

const VERSIONS: readonly unknown[] = ['v4', 'v3', 'v2'] satisfies AnyLanguageModel['specificationVersion'][];

/**
 * The model as one of specification v4: itself, or an adapter for one of v3 or v2. `field` is the path of the option. Throws
 * `DefinitionError` `invalid_model` for anything else, a model's name included.
 */
export function resolveModel(value: unknown, field: string): LanguageModel {
  const problem = problemWithModel(value);
  if (problem === undefined) return adaptModel(value as AnyLanguageModel);
  const message = `"${field}" must be an AI SDK language model (specification v4, v3 or v2), ${problem}`;
  throw new DefinitionError('invalid_model', { field, message, value });
}

/** What identifies a model in a fingerprint. An adapted model is of specification v4. */
export function modelIdentity({ provider, modelId, specificationVersion }: AnyLanguageModel): ModelIdentity {
  return Object.freeze({ provider, modelId, specificationVersion });
}

/** The end of a sentence that says what was expected. */
function problemWithModel(value: unknown): string | undefined {
  if (value === undefined) return 'but none was given';
  if (typeof value === 'string') {
    return `not the id ${show(value)}: ask a provider for the model object, for example ${exampleOf(value)}`;
  }
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return `not ${show(value)}`;
  try {
    return problemWithShape(value);
  } catch {
    return `not ${show(value)} that cannot be read`;
  }
}

/** How the model of an id is made: `openai/gpt-5` names its provider, as gateways write it. */
function exampleOf(id: string): string {
  const [, provider = 'openai', name = id] = /^(anthropic|google|openai)\/(.+)$/s.exec(id) ?? [];
  return `${provider}(${show(name)})`;
}

function problemWithShape(value: object): string | undefined {
  const isMethod = (name: string): boolean => typeof Reflect.get(value, name) === 'function';
  if (!isMethod('doGenerate') || !isMethod('doStream')) {
    if (isMethod('languageModel')) return 'not a provider: call it with the id of a model';
    if (isMethod('then')) return 'not a promise: await it first';
    return `not ${show(value)} without doGenerate and doStream`;
  }
  const version: unknown = Reflect.get(value, 'specificationVersion');
  if (!VERSIONS.includes(version)) return `not a model of specification ${show(version)}`;
  const unnamed = ['provider', 'modelId'].find(name => typeof Reflect.get(value, name) !== 'string');
  return unnamed && `and its "${unnamed}" must be a string`;
}
