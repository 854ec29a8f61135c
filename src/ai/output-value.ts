/** The result of a tool as a plain value, for AI SDK and for pages. */
import type { ToolResultOutput } from '../model/model.ts';

/** A result of several parts, or of files. */
export interface OutputParts {
  readonly type: 'looprig-parts';
  readonly parts: Extract<ToolResultOutput, { type: 'content' }>['value'];
}

/** Text as a string, JSON as its value, anything else as its parts. */
export function plainValue(output: ToolResultOutput): unknown {
  switch (output.type) {
    case 'text':
    case 'json':
    case 'error-text':
    case 'error-json':
      return output.value;
    case 'content':
      return { type: 'looprig-parts', parts: output.value } satisfies OutputParts;
    case 'execution-denied':
      return output.reason ?? null;
  }
}

/** The text of an error result. */
export function errorText(output: ToolResultOutput): string {
  const value = plainValue(output);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Whether a value is a result of several parts. */
export function isParts(value: unknown): value is OutputParts {
  if (typeof value !== 'object' || value === null) return false;
  return Reflect.get(value, 'type') === 'looprig-parts' && Array.isArray(Reflect.get(value, 'parts'));
}
