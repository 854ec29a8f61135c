import type { LanguageModelV2, LanguageModelV2CallOptions, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { expectTypeOf } from 'vitest';
import type { ModelRequest } from '../model/model.ts';
import { forever, scriptedModel } from './scripted-model.ts';

expectTypeOf(scriptedModel([{ text: 'a' }])).toExtend<LanguageModelV4>();
expectTypeOf(scriptedModel([], { specification: 'v3' })).toExtend<LanguageModelV3>();
expectTypeOf(scriptedModel([], { specification: 'v2' })).toExtend<LanguageModelV2>();
expectTypeOf(scriptedModel([]).requests).toEqualTypeOf<readonly ModelRequest[]>();

scriptedModel([
  request => {
    expectTypeOf(request).toEqualTypeOf<ModelRequest>();
    return { text: 'a' };
  },
  forever(({ prompt }) => ({ text: String(prompt.length) })),
]);

scriptedModel(
  [
    request => {
      expectTypeOf(request).toEqualTypeOf<LanguageModelV2CallOptions>();
      return { text: 'a' };
    },
  ],
  { specification: 'v2' },
);

scriptedModel(forever({ text: 'a' }), { specification: 'v3' });
scriptedModel([forever((request: LanguageModelV2CallOptions) => ({ text: String(request.seed) }))], {
  specification: 'v2',
});

// @ts-expect-error a call has either input or inputText
scriptedModel([{ calls: [{ tool: 'a', input: {}, inputText: '{}' }] }]);

// @ts-expect-error a reply has no such field
scriptedModel([{ txt: 'a' }]);
