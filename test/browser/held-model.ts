/** A scripted model whose text comes when the test lets it. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type ScriptedReply, scriptedModel } from 'looprig/testing';

export interface HeldModel {
  readonly model: LanguageModelV4;
  /** Lets the next piece of a text go, now or when it comes. */
  release(pieces?: number): void;
  /** Throws if a reply of the script was not used. */
  assertUsed(): void;
}

/** Every piece of a text waits to be released; everything else comes at once. */
export function heldModel(replies: readonly ScriptedReply[]): HeldModel {
  const script = scriptedModel(replies);
  const waiting: (() => void)[] = [];
  let free = 0;
  const mayGo = async (): Promise<void> => {
    if (free === 0) await new Promise<void>(go => waiting.push(go));
    free -= 1;
  };
  const hold = (): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> =>
    new TransformStream({
      async transform(part, controller) {
        if (part.type === 'text-delta') await mayGo();
        controller.enqueue(part);
      },
    });
  const model: LanguageModelV4 = {
    ...script,
    async doStream(request) {
      const { stream, ...rest } = await script.doStream(request);
      return { ...rest, stream: stream.pipeThrough(hold()) };
    },
  };
  return {
    model,
    release(pieces = 1) {
      free += pieces;
      for (const go of waiting.splice(0, pieces)) go();
    },
    assertUsed: () => script.assertUsed(),
  };
}
