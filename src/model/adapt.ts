/** Models of AI SDK 6 (specification v3) and 5 (v2), seen as models of the specification that the loop speaks. */
import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4GenerateResult,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { createRequestConverter } from './adapt-prompt.ts';
import { partFromV2, partFromV3, resultFromV2, resultFromV3 } from './adapt-response.ts';
import type { AnyLanguageModel, LanguageModel, ModelRequest, ModelStreamPart } from './model.ts';

const adapters = new WeakMap<AnyLanguageModel, LanguageModel>();
const originals = new WeakMap<LanguageModel, AnyLanguageModel>();

/**
 * The model as one of specification v4: itself if it is one, else an adapter, the same one each time. Messages given to an adapter
 * must not change afterwards, since it converts each only once. Throws `TypeError` for a specification that is none of the three.
 */
export function adaptModel(model: AnyLanguageModel): LanguageModel {
  if (model.specificationVersion === 'v4') return model;
  const known = adapters.get(model);
  if (known !== undefined) return known;
  const version: string = model.specificationVersion;
  if (version !== 'v3' && version !== 'v2') {
    throw new TypeError(`a model of specification "${version}" cannot be adapted: expected v4, v3 or v2`);
  }
  const adapter = createAdapter(model);
  adapters.set(model, adapter);
  originals.set(adapter, model);
  return adapter;
}

/** The model behind an adapter; any other model is its own. */
export function originalModel(model: LanguageModel): AnyLanguageModel {
  return originals.get(model) ?? model;
}

function createAdapter(model: LanguageModelV3 | LanguageModelV2): LanguageModel {
  const convert = createRequestConverter(model);
  return Object.freeze({
    specificationVersion: 'v4' as const,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(request: ModelRequest) {
      const result = await generate(model, convert(request));
      return { ...result, warnings: [...listed(result.warnings), ...warningsOf(request)] };
    },
    async doStream(request: ModelRequest) {
      const { stream, ...rest } = await model.doStream(convert(request));
      const toPart = model.specificationVersion === 'v3' ? partFromV3 : partFromV2;
      const convertPart = toPart as (part: unknown) => ModelStreamPart;
      const warnings = warningsOf(request);
      const converted = (stream as ReadableStream<unknown>).pipeThrough(
        new TransformStream<unknown, ModelStreamPart>({
          transform(older, controller) {
            const part = convertPart(older);
            controller.enqueue(
              part.type === 'stream-start' ? { ...part, warnings: [...listed(part.warnings), ...warnings] } : part,
            );
          },
        }),
      );
      return { ...rest, stream: converted };
    },
  });
}

async function generate(
  model: LanguageModelV3 | LanguageModelV2,
  request: ReturnType<ReturnType<typeof createRequestConverter>>,
): Promise<LanguageModelV4GenerateResult> {
  if (model.specificationVersion === 'v3') return resultFromV3(await model.doGenerate(request));
  return resultFromV2(await model.doGenerate(request));
}

/** A response is not lost over warnings that a provider leaves out, or gives as something else. */
function listed(warnings: unknown): readonly SharedV4Warning[] {
  return Array.isArray(warnings) ? warnings : [];
}

/** The one setting of a request that older models do not know. */
function warningsOf({ reasoning }: ModelRequest): SharedV4Warning[] {
  if (reasoning === undefined || reasoning === 'provider-default') return [];
  return [{ type: 'unsupported', feature: 'reasoning', details: 'the model is of an older specification' }];
}
