/** Server-sent events, read from the body of an answer: an `EventSource` could send no token. */

/** One message of a stream. */
export interface SseMessage {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
}

/** The messages of a stream, as soon as they are whole: all that came together at once. Ends with the body. */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly SseMessage[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const end = rest.lastIndexOf('\n\n');
      if (end < 0) continue;
      const messages = rest
        .slice(0, end)
        .split('\n\n')
        .flatMap(block => messageOf(block) ?? []);
      rest = rest.slice(end + 2);
      if (messages.length > 0) yield messages;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function messageOf(block: string): SseMessage | undefined {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue; // a comment
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n') };
}
