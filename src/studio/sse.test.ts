import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readSse, type SseMessage } from './sse.ts';

async function messagesOf(pieces: readonly Uint8Array[]): Promise<SseMessage[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const messages: SseMessage[] = [];
  for await (const group of readSse(body)) messages.push(...group);
  return messages;
}

const STREAM = [
  'retry: 2000\n\n',
  'id: 2\ndata: {"type":"turn.started","text":"größer ✓ 𝒳"}\n\n',
  ': still here\n\n',
  'data:no space\n\n',
  'data: one\ndata: two\n\n',
  'event: end\ndata: {"reason":"closed"}\n\n',
  'data: cut o',
].join('');

it('messages are read whole, whatever the pieces are in which they come', async () => {
  const bytes = new TextEncoder().encode(STREAM);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async cuts => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, index) => bytes.slice(places[index], end));
      expect(await messagesOf(pieces)).toEqual([
        { event: 'message', data: '{"type":"turn.started","text":"größer ✓ 𝒳"}' },
        { event: 'message', data: 'no space' },
        { event: 'message', data: 'one\ntwo' },
        { event: 'end', data: '{"reason":"closed"}' },
      ]);
    }),
  );
});

it('a reader that stops lets go of the body', async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new TextEncoder().encode('data: x\n\n')),
    cancel() {
      isCancelled = true;
    },
  });
  for await (const _group of readSse(body)) break;
  await expect.poll(() => isCancelled).toBe(true);
});
