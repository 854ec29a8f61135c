import { show } from './show.ts';

/**
 * Why something failed, in the words of what was thrown: its message, where it has one. `otherwise` is said where it has
 * none that can be read. Nothing that was thrown makes this throw, neither a getter nor a proxy.
 */
export function reasonOf(thrown: unknown, otherwise?: string): string {
  try {
    const said = wordsOf(thrown);
    if (said !== undefined && said !== '') return said;
    if (otherwise !== undefined) return otherwise;
    if (thrown instanceof Error) return String(thrown.name);
    return said ?? `it threw ${show(thrown)}`;
  } catch {
    return otherwise ?? 'it failed without a readable message';
  }
}

function wordsOf(thrown: unknown): string | undefined {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const message: unknown = Reflect.get(thrown, 'message');
  if (typeof message === 'string') return message;
  return thrown instanceof Error ? String(message) : undefined;
}
