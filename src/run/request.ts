/** What a step asks of the model. */
import { STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import type { Message, ModelRequest } from '../model/model.ts';
import type { TurnContext } from './context.ts';

/** What one step asks of the model. */
export interface StepRequest {
  readonly stepId: string;
  /** A closing step: the tools are named, since the history has calls of them, but may not be used. */
  readonly toolsOff: boolean;
  /** A last line for the model that is not kept. */
  readonly note: string | undefined;
}

/** The request: the one array that is made per step. Messages are frozen and shared. */
export function modelRequest(turn: TurnContext, step: StepRequest): ModelRequest {
  const { mode, behaviour, interruption } = turn;
  const prompt: Message[] =
    mode.system === '' ? turn.history.slice() : [{ role: 'system', content: mode.system }, ...turn.history];
  if (step.note !== undefined) prompt.push({ role: 'user', content: [{ type: 'text', text: step.note }] });
  const request: ModelRequest = { ...mode.settings, prompt, abortSignal: interruption.signal };
  if (!behaviour.stream) request.includeRawChunks = false;
  const output = turn.output?.requestIn(mode);
  if (output?.responseFormat !== undefined) request.responseFormat = output.responseFormat;
  const tools = output?.tools ?? mode.modelTools;
  if (tools.length > 0) {
    request.tools = tools;
    if (!step.toolsOff) request.toolChoice = { type: 'auto' };
    else if (output?.way !== 'tool') request.toolChoice = { type: 'none' };
    else request.toolChoice = { type: 'tool', toolName: STRUCTURED_OUTPUT_TOOL_NAME };
  }
  return request;
}
