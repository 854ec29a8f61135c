/**
 * How the final answer of a loop with an output schema is asked for and checked: the model gives it by calling a control tool, which
 * is no tool of the loop. It counts as final only as the sole call of its response.
 */
import type { ResolvedSchema } from '../define/schema.ts';
import { modelTool, STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import type { ModelTool } from '../model/model.ts';
import type { ModelResponse, RequestedCall } from './response.ts';
import { cleanMessage, messageOf } from './result.ts';

/** The schema of the final answer, and the tools of a mode with the control tool beside them. */
export interface OutputContract {
  readonly schema: ResolvedSchema;
  /** The tools as the model is told about them; one list for each list that it is given. */
  toolsWith(tools: ModelTool[]): ModelTool[];
}

/** Makes the contract for a schema. */
export function outputContract(schema: ResolvedSchema): OutputContract {
  const description = 'Give the final answer. Call this alone, once, when you have all that it needs.';
  const control = modelTool(STRUCTURED_OUTPUT_TOOL_NAME, description, schema);
  const lists = new WeakMap<ModelTool[], ModelTool[]>();
  return {
    schema,
    toolsWith(tools) {
      const known = lists.get(tools) ?? (Object.freeze([...tools, control]) as ModelTool[]);
      lists.set(tools, known);
      return known;
    },
  };
}

/** What a response amounts to. */
export type SortedResponse =
  /** It asks for tools. Control calls among them are refused, and count for nothing. */
  | { readonly kind: 'calls'; readonly calls: readonly RequestedCall[]; readonly refused: readonly RequestedCall[] }
  /** It is meant as the final answer: by the control call, or as text. */
  | { readonly kind: 'answer'; readonly call: RequestedCall | undefined; readonly text: string };

/** Sorts a response. Without a contract every call is one of a tool. */
export function sortResponse(output: OutputContract | undefined, { calls, text }: ModelResponse): SortedResponse {
  const [only] = calls;
  if (only === undefined) return { kind: 'answer', call: undefined, text };
  if (output === undefined) return { kind: 'calls', calls, refused: NONE };
  const isControl = (call: RequestedCall): boolean => call.toolName === STRUCTURED_OUTPUT_TOOL_NAME;
  if (calls.length === 1 && isControl(only)) return { kind: 'answer', call: only, text: only.inputText };
  return { kind: 'calls', calls: calls.filter(call => !isControl(call)), refused: calls.filter(isControl) };
}

const NONE: readonly RequestedCall[] = Object.freeze([]);

/** The typed answer, or what does not fit, each in one line. */
export type CheckedOutput =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly string[] };

/** Checks the text of an answer against the schema. Never throws. */
export async function checkOutput({ schema }: OutputContract, text: string): Promise<CheckedOutput> {
  let value: unknown;
  try {
    value = JSON.parse(unfenced(text));
  } catch (error) {
    return { issues: [`the answer is not JSON: ${messageOf(error)}`] };
  }
  try {
    const checked = await schema.validate(value);
    if (checked.issues === undefined) return { value: checked.value };
    return {
      issues: checked.issues.map(({ path, message }) => cleanMessage(path === '' ? message : `${path}: ${message}`)),
    };
  } catch (error) {
    return { issues: [`the answer could not be checked: ${messageOf(error)}`] };
  }
}

/** What stands for a check that takes too long. */
export function uncheckedOutput(timeoutMs: number): CheckedOutput {
  return { issues: [`the answer could not be checked in ${timeoutMs} ms`] };
}

/** Why a control call beside other calls is not taken. */
export const NOT_ALONE: string = `not taken: call ${STRUCTURED_OUTPUT_TOOL_NAME} alone, once, after all other calls are answered`;

/** What an answer that does not fit is told. */
export function unfitLine(issues: readonly string[]): string {
  return cleanMessage(
    `The final answer does not fit its schema: ${issues.join('; ')}. Give it again by calling ${STRUCTURED_OUTPUT_TOOL_NAME}.`,
  );
}

/** Text without the fence that models like to put round JSON. */
function unfenced(text: string): string {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  return fenced?.[1] ?? text;
}
