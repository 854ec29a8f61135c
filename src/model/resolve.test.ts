import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../errors.ts';
import type { LanguageModel } from './model.ts';
import { modelIdentity, resolveModel } from './resolve.ts';

const unasked = (): never => {
  throw new Error('not asked');
};
const parts = { provider: 'stub', modelId: 'stub-1', supportedUrls: {}, doGenerate: unasked, doStream: unasked };

const refusal = (value: unknown): DefinitionError => {
  try {
    resolveModel(value, 'model');
  } catch (error) {
    if (DefinitionError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('a model', () => {
  test('of specification v4 is taken as it is, a callable one too', () => {
    const model: LanguageModel = { specificationVersion: 'v4', ...parts };
    const callable = Object.assign(() => 'hello', { specificationVersion: 'v4', ...parts });

    expect(resolveModel(model, 'model')).toBe(model);
    expect(resolveModel(callable, 'model')).toBe(callable);
  });

  test.each(['v3', 'v2'])('of specification %s is adapted to v4, the same way each time', specificationVersion => {
    const model = { specificationVersion, ...parts };
    const adapted = resolveModel(model, 'model');

    expect(adapted).toMatchObject({ specificationVersion: 'v4', provider: 'stub', modelId: 'stub-1' });
    expect(resolveModel(model, 'model')).toBe(adapted);
    expect(resolveModel(adapted, 'model')).toBe(adapted);
  });

  test('may have its parts on a prototype', () => {
    class StubModel {
      readonly specificationVersion = 'v4';
      readonly modelId = 'stub-1';
      get provider(): string {
        return 'stub';
      }
      doGenerate(): never {
        return unasked();
      }
      doStream(): never {
        return unasked();
      }
    }
    const model = new StubModel();

    expect(resolveModel(model, 'model')).toBe(model);
  });

  test('is identified by provider, model id and specification', () => {
    expect(modelIdentity({ specificationVersion: 'v4', ...parts })).toEqual({
      provider: 'stub',
      modelId: 'stub-1',
      specificationVersion: 'v4',
    });
  });
});

const EXPECTED = '"model" must be an AI SDK language model (specification v4, v3 or v2), ';

describe('what is no model is refused', () => {
  test.each([
    { what: 'nothing', value: undefined, said: 'but none was given' },
    { what: 'null', value: null, said: 'not null' },
    {
      what: 'the id of a model',
      value: 'gpt-5',
      said: 'not the id "gpt-5": ask a provider for the model object, for example openai("gpt-5")',
    },
    {
      what: 'the id of a model as gateways write it',
      value: 'openai/gpt-5',
      said: 'not the id "openai/gpt-5": ask a provider for the model object, for example openai("gpt-5")',
    },
    { what: 'a number', value: 5, said: 'not 5' },
    { what: 'an empty object', value: {}, said: 'not an object without doGenerate and doStream' },
    { what: 'a list', value: [], said: 'not an array without doGenerate and doStream' },
    { what: 'a function', value: () => 'x', said: 'not a function without doGenerate and doStream' },
    { what: 'a promise', value: Promise.resolve(), said: 'not a promise: await it first' },
    {
      what: 'a provider',
      value: Object.assign(() => parts, { specificationVersion: 'v4', languageModel: () => parts }),
      said: 'not a provider: call it with the id of a model',
    },
    {
      what: 'an embedding model',
      value: { specificationVersion: 'v4', provider: 'p', modelId: 'm', doEmbed: unasked },
      said: 'not an object without doGenerate and doStream',
    },
    {
      what: 'a model that cannot stream',
      value: { ...parts, specificationVersion: 'v4', doStream: undefined },
      said: 'not an object without doGenerate and doStream',
    },
    {
      what: 'a model of an older specification',
      value: { specificationVersion: 'v1', ...parts },
      said: 'not a model of specification "v1"',
    },
    { what: 'a model of no specification', value: parts, said: 'not a model of specification undefined' },
    {
      what: 'a model without a provider',
      value: { ...parts, specificationVersion: 'v4', provider: undefined },
      said: 'and its "provider" must be a string',
    },
    {
      what: 'a model without an id',
      value: { ...parts, specificationVersion: 'v3', modelId: 5 },
      said: 'and its "modelId" must be a string',
    },
  ])('$what', ({ value, said }) => {
    const error = refusal(value);

    expect(error).toMatchObject({ kind: 'invalid_model', field: 'model' });
    expect(error.value).toBe(value);
    expect(error.message).toBe(EXPECTED + said);
  });

  test('a thing that throws when it is looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect(refusal(proxy).message).toBe(`${EXPECTED}not an object that cannot be read`);
  });

  test('at the path where it stood', () => {
    expect(() => resolveModel('x', 'modes.plan.model')).toThrowError(
      expect.objectContaining({
        field: 'modes.plan.model',
        message: expect.stringContaining('"modes.plan.model" must'),
      }),
    );
  });
});
