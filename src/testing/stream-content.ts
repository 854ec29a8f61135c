/** A whole response as a stream, and a stream as a whole response, for models that were given the one and are asked for the other. */
import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type { ModelContent, ModelStreamPart } from '../model/model.ts';

/** A whole response of a v4 model. */
export type GenerateResult = LanguageModelV4GenerateResult;

/** How the parts of a text or a reasoning are cut. */
export type Split = (text: string) => readonly string[];

const inOnePiece: Split = text => (text === '' ? [] : [text]);

/** The parts of the stream that gives `result`, from `stream-start` to `finish`. `split` cuts the texts into deltas. */
export function partsOf(result: GenerateResult, split: Split = inOnePiece): ModelStreamPart[] {
  const { id, timestamp, modelId } = result.response ?? {};
  const metadata = {
    ...(id !== undefined && { id }),
    ...(timestamp !== undefined && { timestamp }),
    ...(modelId !== undefined && { modelId }),
  };
  return [
    { type: 'stream-start', warnings: result.warnings },
    ...(Object.keys(metadata).length > 0 ? [{ type: 'response-metadata' as const, ...metadata }] : []),
    ...result.content.flatMap((content, index) => contentParts(content, String(index), split)),
    {
      type: 'finish',
      finishReason: result.finishReason,
      usage: result.usage,
      ...(result.providerMetadata && { providerMetadata: result.providerMetadata }),
    },
  ];
}

function contentParts(content: ModelContent, id: string, split: Split): ModelStreamPart[] {
  switch (content.type) {
    case 'text':
    case 'reasoning': {
      // Signatures and citations come when a block ends, as providers send them.
      const metadata = content.providerMetadata && { providerMetadata: content.providerMetadata };
      const citations = content.type === 'text' && content.citations ? { citations: content.citations } : {};
      return [
        { type: `${content.type}-start`, id },
        ...split(content.text).map(delta => ({ type: `${content.type}-delta` as const, id, delta })),
        { type: `${content.type}-end`, id, ...citations, ...metadata } as ModelStreamPart,
      ];
    }
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted, dynamic } = content;
      const flags = { ...(providerExecuted && { providerExecuted }), ...(dynamic && { dynamic }) };
      return [
        { type: 'tool-input-start', id: toolCallId, toolName, ...flags },
        ...(input === '' ? [] : [{ type: 'tool-input-delta' as const, id: toolCallId, delta: input }]),
        { type: 'tool-input-end', id: toolCallId },
        content,
      ];
    }
    default:
      return [content];
  }
}

/** A block of text or reasoning that is still growing. */
interface Block {
  readonly type: 'text' | 'reasoning';
  text: string;
  providerMetadata?: NonNullable<ModelContent['providerMetadata']>;
  citations?: NonNullable<Extract<ModelContent, { type: 'text' }>['citations']>;
}

/** Reads a stream to its end as one response. Rejects with the error that the stream broke with, or that one of its parts tells. */
export async function collectStream(stream: ReadableStream<ModelStreamPart>): Promise<GenerateResult> {
  const content: (ModelContent | Block)[] = [];
  const blocks = new Map<string, Block>();
  let warnings: GenerateResult['warnings'] = [];
  let response: GenerateResult['response'];
  let finish: Extract<ModelStreamPart, { type: 'finish' }> | undefined;
  for await (const part of stream) {
    switch (part.type) {
      case 'stream-start':
        warnings = part.warnings;
        break;
      case 'response-metadata': {
        const { type: _, ...metadata } = part;
        response = { ...response, ...metadata };
        break;
      }
      case 'text-start':
      case 'reasoning-start': {
        const block: Block = { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' };
        blocks.set(part.id, block);
        content.push(block);
        absorb(block, part);
        break;
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        absorb(blocks.get(part.id), part);
        break;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        break;
      case 'error':
        throw part.error;
      case 'finish':
        finish = part;
        break;
      default:
        content.push(part);
    }
  }
  if (finish === undefined) throw new Error('the stream ended without a finish part');
  const { finishReason, usage, providerMetadata } = finish;
  return {
    content: content as ModelContent[],
    finishReason,
    usage,
    warnings,
    ...(providerMetadata && { providerMetadata }),
    ...(response && { response }),
  };
}

type BlockPart = Extract<ModelStreamPart, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;

function absorb(block: Block | undefined, part: BlockPart): void {
  if (block === undefined)
    throw new Error(`the stream has a ${part.type} part for "${part.id}", which it never started`);
  if ('delta' in part) block.text += part.delta;
  if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
  if ('citations' in part && part.citations !== undefined) block.citations = part.citations;
}
