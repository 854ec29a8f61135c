/** The tools of a recording: what its responses called, and what its requests gave back. */
import { problemWithToolName, type ToolDefinition, type ToolReturn } from '../define/tool.ts';
import type { Recording } from './recording.ts';
import { requireRecording } from './recording.ts';
import { type ScriptedTool, scriptedTool } from './scripted-tool.ts';
import { type WireCall, type WireFormat, type WireResult, wireFormat } from './wire-formats.ts';

/** A call that a recording asked its client for. Calls of tools that the provider runs itself are not among them. */
export interface RecordedCall {
  /** The id as recorded; absent where the format has none. */
  readonly id?: string;
  readonly toolName: string;
  readonly input: unknown;
  /** What the recorded client answered: text, a JSON value, or a `ToolResult`. `undefined` where no answer was recorded. */
  readonly result: ToolReturn;
}

/** What a recording knows of its tools. */
export interface RecordedTools {
  /** The names that its responses call, each once, in the order of their first call. */
  readonly names: readonly string[];
  /** All calls, in order. */
  readonly calls: readonly RecordedCall[];
  /** What the recorded client answered to the tool's call number `which` (from 0) or of id `which`; `undefined` for none. */
  resultFor(toolName: string, which: number | string): ToolReturn;
}

/** Reads the calls and results of a recording. Throws `TypeError` for what is no recording, or one of an unknown format. */
export function recordedTools(recording: Recording): RecordedTools {
  requireRecording(recording);
  const calls = readCalls(recording, wireFormat(recording.api));
  return Object.freeze({
    names: Object.freeze([...new Set(calls.map(call => call.toolName))]),
    calls: Object.freeze(calls),
    resultFor: (toolName: string, which: number | string) => find(calls, toolName, which)?.result,
  });
}

/**
 * Definitions that answer each call of a recording with what was recorded: by the call's id where it is the recorded one, else by
 * the tool's name and the order of its runs; a call without a recorded answer gets `no recorded result`. Names that providers
 * refuse are left out.
 */
export function standInTools(recording: Recording): readonly ToolDefinition[] {
  const tools = recordedTools(recording);
  const names = tools.names.filter(name => problemWithToolName(name) === undefined);
  return names.map(name => standIn(name, tools.calls).definition);
}

function standIn(name: string, calls: readonly RecordedCall[]): ScriptedTool {
  let run = 0;
  return scriptedTool(name, {
    description: `Answers as the recorded ${name} did.`,
    returns: (_input, { callId }) => {
      const nth = run++;
      const byId = calls.filter(call => call.toolName === name && call.id === callId);
      const call = byId.length === 1 ? byId[0] : find(calls, name, nth);
      return call?.result ?? 'no recorded result';
    },
  });
}

function find(calls: readonly RecordedCall[], toolName: string, which: number | string): RecordedCall | undefined {
  const ofTool = calls.filter(call => call.toolName === toolName);
  return typeof which === 'number' ? ofTool[which] : ofTool.find(call => call.id === which);
}

function readCalls({ exchanges }: Recording, format: WireFormat): RecordedCall[] {
  const results = exchanges.map(({ request }) => (request === null ? [] : format.results(request.body)));
  return exchanges.flatMap(({ response }, index) => {
    const calls = format.calls(response).filter(call => call.name !== '');
    return calls.map((call, place) =>
      Object.freeze({
        ...(call.id !== undefined && { id: call.id }),
        toolName: call.name,
        input: call.input,
        result:
          call.id === undefined
            ? resultByPlace(call, calls.slice(place), results[index] ?? [], results[index + 1] ?? [])
            : resultById(call.id, results.slice(index + 1)),
      }),
    );
  });
}

/** In the first later request that has the id; the last one there, since some providers use an id again at the next step. */
function resultById(id: string, later: readonly (readonly WireResult[])[]): ToolReturn {
  for (const results of later) {
    const result = results.findLast(candidate => candidate.id === id);
    if (result !== undefined) return result.value;
  }
  return undefined;
}

/** Requests repeat the whole history, so what the last calls got stands at the end, behind what the request before had. */
function resultByPlace(
  { name }: WireCall,
  fromHere: readonly WireCall[],
  before: readonly WireResult[],
  after: readonly WireResult[],
): ToolReturn {
  const sameName = (one: { readonly name: string | undefined }): boolean => one.name === name;
  const known = before.filter(sameName).length;
  const results = after.filter(sameName);
  const place = results.length - fromHere.filter(sameName).length;
  return place < known ? undefined : results[place]?.value;
}
