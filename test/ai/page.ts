/** A page without a browser: reads a UI message stream as AI SDK does, and checks each chunk by AI SDK's own schema. */
import {
  asSchema,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
  validateUIMessages,
} from 'ai';

export interface Page {
  readonly chunks: readonly UIMessageChunk[];
  /** The message as it stands at the end. */
  readonly message: UIMessage;
  /** Each state of it, on the way. */
  readonly states: readonly UIMessage[];
  /** What the page was told went wrong. */
  readonly errors: readonly string[];
}

/** Reads a stream to its end, on a page that has `message` already, if that is given. */
export async function readPage(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<Page> {
  const chunks: UIMessageChunk[] = [];
  const checked = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      async transform(chunk, controller) {
        const carried: unknown = JSON.parse(JSON.stringify(chunk));
        const valid = await asSchema(uiMessageChunkSchema).validate?.(carried);
        if (valid?.success !== true) throw new Error(`no chunk of the protocol: ${JSON.stringify(chunk)}`);
        chunks.push(valid.value);
        controller.enqueue(valid.value);
      },
    }),
  );
  const errors: string[] = [];
  const states: UIMessage[] = [];
  const onError = (error: unknown): void => void errors.push(error instanceof Error ? error.message : String(error));
  const read = readUIMessageStream({
    stream: checked,
    onError,
    ...(message === undefined ? {} : { message: structuredClone(message) }),
  });
  for await (const state of read) states.push(state);
  const last = states.at(-1);
  if (last === undefined) throw new Error(`the stream has no message: ${errors.join('; ')}`);
  if (last.parts.length > 0) await validateUIMessages({ messages: [last] });
  return { chunks, message: last, states, errors };
}

/** The parts of a message in short: what a person would see. */
export function partsOf(message: UIMessage): unknown[] {
  return message.parts.map(part => {
    if (part.type === 'text' || part.type === 'reasoning') return [part.type, part.text];
    if (part.type.startsWith('tool-') && 'toolCallId' in part) {
      const { state, input } = part;
      const said =
        part.state === 'output-available' ? part.output : part.state === 'output-error' ? part.errorText : '';
      return [part.type, state, input, said];
    }
    return 'data' in part ? [part.type, part.data] : [part.type];
  });
}

export function textOf({ parts }: UIMessage): string {
  return parts.map(part => (part.type === 'text' ? part.text : '')).join('');
}
