/** Arguments that a person puts in the place of a model's: checked by the tool's schema, and asked what they want. */
import type { BoundMode } from '../bind/bound-loop.ts';
import type { AccessRequest } from '../define/tool.ts';
import type { JSONValue } from '../model/model.ts';
import { messageOf } from '../run/result.ts';
import { show } from '../show.ts';

/** What the edited call asks for, or why it cannot be made. Never throws. */
export async function checkEdit(
  mode: BoundMode,
  toolName: string,
  input: JSONValue,
): Promise<{ readonly problem: string } | { readonly access: readonly AccessRequest[] }> {
  const tool = mode.tool(toolName);
  if (tool === undefined) return { problem: `there is no tool ${show(toolName)} now` };
  try {
    const checked = await tool.validate(structuredClone(input));
    if (checked.issues !== undefined) {
      return {
        problem: checked.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '),
      };
    }
    return { access: [...((await tool.live.access?.(checked.value)) ?? [])] };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
