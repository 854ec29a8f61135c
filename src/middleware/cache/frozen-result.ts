/** Results that may be given out more than once. */
import { isToolResult, type ToolContent, type ToolResult, toolResult } from '../../define/tool.ts';
import { base64 } from '../../model/copy.ts';
import { copyJson } from '../json.ts';

/**
 * A copy of a result that nobody can change: JSON is copied and frozen, bytes become base64 text. `undefined` for what the model could not
 * be shown: that is for the loop to tell about.
 */
export function frozenResult(result: ToolResult): ToolResult | undefined {
  try {
    if (!isToolResult(result)) return undefined;
    const content = result.content.map(frozenPart);
    return content.includes(undefined) ? undefined : toolResult(content as ToolContent[], result);
  } catch {
    return undefined; // it cannot be read
  }
}

/** Whether a result says anything: the model is told of an empty one as of an error. */
export function isEmpty({ content }: ToolResult): boolean {
  return content.every(part => part.type === 'text' && part.text === '');
}

function frozenPart(part: ToolContent): ToolContent | undefined {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? Object.freeze({ type: 'text', text: part.text }) : undefined;
    case 'json': {
      const { value, isWhole } = copyJson(part.value);
      return isWhole ? Object.freeze({ type: 'json', value }) : undefined;
    }
    case 'image':
    case 'file': {
      const data = part.data instanceof Uint8Array ? base64(part.data) : part.data;
      return typeof data === 'string' ? Object.freeze({ ...part, data }) : undefined;
    }
    default:
      return undefined;
  }
}
