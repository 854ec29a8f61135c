/** A stream of these parts, one after another. What throws while the parts are listed breaks the stream there. */
export function streamOf<T>(parts: Iterable<T>): ReadableStream<T> {
  const iterator = parts[Symbol.iterator]();
  return new ReadableStream<T>({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}
