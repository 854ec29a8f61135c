/**
 * How the final answer of a loop with an output schema is asked for and checked. The model gives it as text, held to the schema by
 * its provider, where that works beside tools; else by calling a control tool, which is no tool of the loop, and counts as final
 * only as the sole call of its response.
 */
import type { BoundMode } from '../bind/bound-loop.ts';
import type { LoopBehaviour } from '../define/behaviour.ts';
import type { ResolvedSchema } from '../define/schema.ts';
import { modelTool, STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import { deepFreeze } from '../freeze.ts';
import { originalModel } from '../model/adapt.ts';
import type { FinishReason, ModelRequest, ModelTool } from '../model/model.ts';
import { takesNativeOutput } from '../model/native-output.ts';
import { nativeSchema } from '../model/native-schema.ts';
import type { ModelResponse, RequestedCall } from './response.ts';
import { cleanMessage, messageOf } from './result.ts';

/** How the final answer is asked for: by the provider's own response format, or by the control tool. */
export type OutputWay = 'native' | 'tool';

/** What a request says so that the answer fits: the tools with the control tool among them, or the response format beside them. */
interface OutputRequest {
  readonly way: OutputWay;
  readonly tools: ModelTool[];
  readonly responseFormat: ModelRequest['responseFormat'];
}

/** The schema of the final answer, and how a mode's model is asked for it. */
export interface OutputContract {
  readonly schema: ResolvedSchema;
  /** What requests in this mode say: the same objects each time. */
  requestIn(mode: BoundMode): OutputRequest;
}

const DESCRIPTION = 'Give the final answer. Call this alone, once, when you have all that it needs.';

/** Makes the contract for a schema. */
export function outputContract(schema: ResolvedSchema, outputMode: LoopBehaviour['outputMode']): OutputContract {
  const control = modelTool(STRUCTURED_OUTPUT_TOOL_NAME, DESCRIPTION, schema);
  const closed = nativeSchema(schema.jsonSchema);
  const native = deepFreeze({ type: 'json' as const, schema: closed ?? schema.jsonSchema, name: 'final_answer' });
  const isNative = ({ model, modelTools }: BoundMode): boolean => {
    if (outputMode !== 'auto') return outputMode === 'native';
    return closed !== undefined && takesNativeOutput(originalModel(model), modelTools.length > 0);
  };
  const requests = new WeakMap<BoundMode, OutputRequest>();
  return {
    schema,
    requestIn(mode) {
      const known = requests.get(mode);
      if (known !== undefined) return known;
      const request: OutputRequest = Object.freeze(
        isNative(mode)
          ? { way: 'native', tools: mode.modelTools, responseFormat: native }
          : {
              way: 'tool',
              tools: Object.freeze([...mode.modelTools, control]) as ModelTool[],
              responseFormat: undefined,
            },
      );
      requests.set(mode, request);
      return request;
    },
  };
}

/** What a response amounts to. */
export type SortedResponse =
  /** It asks for tools. Control calls among them are refused, and count for nothing. */
  | { readonly kind: 'calls'; readonly calls: readonly RequestedCall[]; readonly refused: readonly RequestedCall[] }
  /** It is meant as the final answer: by the control call, or as text. */
  | ({ readonly kind: 'answer'; readonly call: RequestedCall | undefined } & Answer);

/** The words of an answer: all of them, and the last block of them where it came in several. */
interface Answer {
  readonly text: string;
  readonly lastBlock: string;
}

/** Sorts a response. Without a contract every call is one of a tool. */
export function sortResponse(output: OutputContract | undefined, response: ModelResponse): SortedResponse {
  const { calls, text } = response;
  const only = calls[0];
  if (only === undefined) return { kind: 'answer', call: undefined, text, lastBlock: lastTextOf(response) };
  if (output === undefined) return { kind: 'calls', calls, refused: NONE };
  const isControl = (call: RequestedCall): boolean => call.toolName === STRUCTURED_OUTPUT_TOOL_NAME;
  if (calls.length === 1 && isControl(only)) {
    return { kind: 'answer', call: only, text: only.inputText, lastBlock: only.inputText };
  }
  return { kind: 'calls', calls: calls.filter(call => !isControl(call)), refused: calls.filter(isControl) };
}

const NONE: readonly RequestedCall[] = Object.freeze([]);

/** What does not fit, each in one line. */
export interface UnfitOutput {
  readonly issues: readonly string[];
  /** Whether asking again would not help. */
  readonly isHopeless?: boolean;
}

/** The typed answer, or why there is none. */
export type CheckedOutput = { readonly value: unknown; readonly issues?: undefined } | UnfitOutput;

/** Judges an answer, with the way in which its response ended. Never throws. */
export async function judgeAnswer(
  contract: OutputContract,
  answer: Extract<SortedResponse, { kind: 'answer' }>,
  finishReason: FinishReason,
): Promise<CheckedOutput> {
  const { unified } = finishReason;
  if (unified === 'length' && answer.call !== undefined) return { issues: [CUT_OFF] }; // as any call of such a response
  const checked = await checkOutput(contract, answer);
  if (checked.issues === undefined) return checked;
  if (unified === 'length') return { issues: [CUT_OFF] };
  return unified === 'content-filter' ? { issues: [FILTERED], isHopeless: true } : checked;
}

/** What does not fit into the output limit is no fault of its form. */
const CUT_OFF = 'the answer was cut off by the output limit: give a shorter one';

/** A filter or a refusal ends an answer again, however often it is asked for. */
const FILTERED = 'the answer was refused, or ended by a content filter of the provider';

/** Checks an answer against the schema. Never throws. */
async function checkOutput({ schema }: OutputContract, answer: Answer): Promise<CheckedOutput> {
  const parsed = parseAnswer(answer);
  if (parsed.issues !== undefined) return parsed;
  try {
    const checked = await schema.validate(parsed.value);
    if (checked.issues === undefined) return { value: checked.value };
    return {
      issues: checked.issues.map(({ path, message }) => cleanMessage(path === '' ? message : `${path}: ${message}`)),
    };
  } catch (error) {
    return { issues: [`the answer could not be checked: ${messageOf(error)}`] };
  }
}

/** The JSON of an answer. Text may say something before it; some models give that as a block of its own. */
function parseAnswer({ text, lastBlock }: Answer): CheckedOutput {
  try {
    return { value: JSON.parse(unfenced(text)) };
  } catch (error) {
    if (lastBlock === text) return { issues: [`the answer is not JSON: ${messageOf(error)}`] };
    return parseAnswer({ text: lastBlock, lastBlock });
  }
}

/** What stands for a check that takes too long. */
export function uncheckedOutput(timeoutMs: number): CheckedOutput {
  return { issues: [`the answer could not be checked in ${timeoutMs} ms`] };
}

/** Why a control call beside other calls is not taken. */
export const NOT_ALONE: string = `not taken: call ${STRUCTURED_OUTPUT_TOOL_NAME} alone, once, after all other calls are answered`;

/** What an answer that does not fit is told. */
export function unfitLine(issues: readonly string[], way: OutputWay): string {
  const again = way === 'native' ? 'as JSON alone' : `by calling ${STRUCTURED_OUTPUT_TOOL_NAME}`;
  return cleanMessage(`The final answer does not fit its schema: ${issues.join('; ')}. Give it again, ${again}.`);
}

function lastTextOf({ message, text }: ModelResponse): string {
  const last = message.content.findLast(part => part.type === 'text');
  return last?.type === 'text' ? last.text : text;
}

/** Text without the fence that models like to put round JSON. */
function unfenced(text: string): string {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  return fenced?.[1] ?? text;
}
