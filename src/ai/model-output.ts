/** What an AI SDK tool says to the model (`toModelOutput`), as a result of a looprig tool. */
import type { Tool } from 'ai';
import { type ToolContent, type ToolResult, toolResult } from '../index.ts';
import { jsonText } from './input-schema.ts';

/** What `toModelOutput` of an AI SDK tool gives. */
export type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>;
type OutputPart = Extract<ModelOutput, { type: 'content' }>['value'][number];

/** The result that the output stands for. Throws, with a sentence for the model, for a part that has no counterpart. */
export function resultOfOutput(output: ModelOutput): ToolResult {
  switch (output.type) {
    case 'text':
      return toolResult(output.value);
    case 'json':
      return toolResult([{ type: 'json', value: output.value }]);
    case 'error-text':
      return toolResult(output.value, { isError: true });
    case 'error-json':
      return toolResult([{ type: 'json', value: output.value }], { isError: true });
    case 'execution-denied':
      return toolResult(`not run: ${output.reason ?? 'it was denied'}`, { isError: true });
    case 'content':
      return toolResult(output.value.map(contentOf));
    default:
      throw new TypeError(
        `its toModelOutput gave an output of the unknown type ${jsonText(Reflect.get(output, 'type'))}`,
      );
  }
}

function contentOf(part: OutputPart): ToolContent {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'file':
      return fileOf(part);
    case 'file-data': {
      const named = part.filename === undefined ? {} : { filename: part.filename };
      return { type: 'file', data: part.data, mediaType: part.mediaType, ...named };
    }
    case 'image-data':
      return { type: 'image', data: part.data, mediaType: part.mediaType };
    default:
      throw new TypeError(
        `its toModelOutput gave a part of type "${part.type}", which a result here cannot hold: give its text or its data`,
      );
  }
}

function fileOf({ data, mediaType, filename }: Extract<OutputPart, { type: 'file' }>): ToolContent {
  if (data.type === 'text') return { type: 'text', text: data.text };
  if (data.type !== 'data') {
    throw new TypeError(
      `its toModelOutput gave a file by ${data.type}, which a result here cannot hold: give its data instead`,
    );
  }
  const bytes =
    typeof data.data === 'string' || data.data instanceof Uint8Array ? data.data : new Uint8Array(data.data);
  if (mediaType.startsWith('image')) return { type: 'image', data: bytes, mediaType };
  return { type: 'file', data: bytes, mediaType, ...(filename === undefined ? {} : { filename }) };
}
