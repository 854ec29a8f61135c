/**
 * The first stage of a batch: its calls resolved, in their order. Nothing runs yet; a call that cannot be made is answered instead.
 */
import type { BoundTool } from '../bind/bound-loop.ts';
import type { Validation } from '../define/schema.ts';
import { type AccessRequest, type Resource, STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import { answered, type CallResult, type PreparedCall } from './call.ts';
import type { TurnContext } from './context.ts';
import { settleInTime } from './in-time.ts';
import { STOPPED, stoppedBecause } from './interruption.ts';
import { nearNames } from './near-names.ts';
import { DEEPEST_ARGUMENTS, isTooDeep, type RequestedCall } from './response.ts';
import { cleanMessage, messageOf } from './result.ts';
import type { RecordedBatch, RecordedResult } from './resume.ts';

/** What preparing gives: a call that may run, the result that says why not, or the result that it had already. */
export type Preparation =
  | { readonly call: PreparedCall; readonly refused?: undefined; readonly recorded?: undefined }
  | { readonly call?: undefined; readonly refused: CallResult; readonly recorded?: undefined }
  | { readonly call?: undefined; readonly refused?: undefined; readonly recorded: CallResult & RecordedResult };

/** Prepares all calls in their order; a promise only where a schema or a tool is async. */
export function prepareAll(
  turn: TurnContext,
  calls: readonly RequestedCall[],
  recorded: RecordedBatch | undefined,
): readonly Preparation[] | Promise<readonly Preparation[]> {
  const prepared = new Array<Preparation>(calls.length);
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index]!;
    const preparation = recordedAnswer(turn, call, recorded) ?? prepareCall(turn, call);
    if (preparation instanceof Promise) return prepareRest(turn, calls, recorded, prepared, index, preparation);
    prepared[index] = preparation;
  }
  return prepared;
}

/** Goes on with the preparation that is async at `index`. */
async function prepareRest(
  turn: TurnContext,
  calls: readonly RequestedCall[],
  recorded: RecordedBatch | undefined,
  prepared: Preparation[],
  index: number,
  preparation: Promise<Preparation>,
): Promise<readonly Preparation[]> {
  prepared[index] = await inTime(turn, preparation);
  for (let place = index + 1; place < calls.length; place++) {
    const call = calls[place]!;
    const next = recordedAnswer(turn, call, recorded) ?? prepareCall(turn, call);
    prepared[place] = next instanceof Promise ? await inTime(turn, next) : next;
  }
  return prepared;
}

/**
 * What the journal says of a call: its result, which is used; or only its start, and then it may have taken effect, so that it runs
 * again only where its tool says that this is safe.
 */
function recordedAnswer(
  turn: TurnContext,
  { callId, toolName }: RequestedCall,
  recorded: RecordedBatch | undefined,
): Preparation | undefined {
  const result = recorded?.results.get(callId);
  if (result !== undefined) return { recorded: { ...result, isError: result.outcome !== 'done' } };
  if (recorded?.started.has(callId) !== true || turn.mode.tool(toolName)?.live.idempotent === true) return undefined;
  return { refused: answered('interrupted', PROCESS_ENDED) };
}

/** What is said of a call that another process had started, and that does not run again. */
export const PROCESS_ENDED = 'interrupted: the process ended while it ran; it may or may not have taken effect';

/** A schema or a tool that never says what it was asked does not hold the turn. */
export async function inTime(turn: TurnContext, preparation: Promise<Preparation>): Promise<Preparation> {
  const prepared = await settleInTime(turn, preparation, timeoutMs => ({
    refused: answered('refused', `not run: preparing it took longer than ${timeoutMs} ms`),
  }));
  if (prepared !== STOPPED) return prepared;
  return { refused: answered('not_run', `not run: ${stoppedBecause(turn.interruption.cause)}`) };
}

/** Prepares a call: name, arguments, schema, and what the tool says of it, in this order. Gives a promise only where a schema or tool does. */
export function prepareCall(turn: TurnContext, request: RequestedCall): Preparation | Promise<Preparation> {
  const tool = turn.mode.tool(request.toolName);
  if (tool === undefined) return refuse(unknownTool(turn, request.toolName));
  const parsed = parseArguments(request.inputText);
  if ('problem' in parsed) return refuse(parsed.problem);
  try {
    const validation = tool.validate(parsed.value);
    if (validation instanceof Promise) {
      return validation
        .then(result => describe(turn, tool, result))
        .catch(error => refuse(`the arguments could not be checked: ${messageOf(error)}`));
    }
    return describe(turn, tool, validation);
  } catch (error) {
    return refuse(`the arguments could not be checked: ${messageOf(error)}`);
  }
}

function refuse(text: string): Preparation {
  return { refused: answered('refused', text) };
}

function unknownTool(turn: TurnContext, name: string): string {
  const shown = cleanMessage(name.slice(0, 80));
  if (turn.isKnownElsewhere(name)) return `tool "${shown}" is not available now`;
  const near = nearNames(
    name,
    turn.mode.tools.map(tool => tool.info.name),
  );
  if (near.length === 0) return `unknown tool "${shown}": ${nothingHere(turn)}`;
  return `unknown tool "${shown}": did you mean ${near.map(candidate => `"${candidate}"`).join(', ')}?`;
}

function nothingHere({ output, mode }: TurnContext): string {
  const isAsked = output?.requestIn(mode).way === 'tool';
  return isAsked ? `there is only ${STRUCTURED_OUTPUT_TOOL_NAME}, for the final answer` : 'there are no tools here';
}

/** A value of the call's own: nobody else holds it, so a tool may do with it what it likes. */
function parseArguments(text: string): { readonly value: object } | { readonly problem: string } {
  if (typeof text !== 'string' || text.trim() === '') return { value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = messageOf(error);
    const place = /position \d+/.test(reason) ? '' : ` at position ${text.length}`;
    return { problem: `the arguments are not JSON: ${reason}${place}. The call was not run` };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (!isTooDeep(value, text)) return { value };
    return { problem: `the arguments are nested more than ${DEEPEST_ARGUMENTS} levels deep. The call was not run` };
  }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  return { problem: `the arguments must be a JSON object, not ${kind} at position 0. The call was not run` };
}

function describe(turn: TurnContext, tool: BoundTool, validation: Validation): Preparation | Promise<Preparation> {
  if (validation.issues !== undefined) {
    const issues = validation.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    return refuse(cleanMessage(`the arguments do not fit the schema of "${tool.info.name}": ${issues.join('; ')}`));
  }
  const input = validation.value;
  const { live } = tool;
  const limit = turn.limits.callTimeoutMs;
  const own: unknown = live.timeoutMs;
  const timeoutMs = typeof own === 'number' && own >= 0 ? Math.min(own, limit) : limit;
  const sequential = live.sequential === true;
  if (live.resource === undefined && live.access === undefined && live.summary === undefined) {
    return { call: { tool, input, sequential, timeoutMs, resources: NOTHING, access: NOTHING, summary: undefined } };
  }
  return askTool(input, live).then(
    asked => ({ call: { tool, input, sequential, timeoutMs, ...asked } }),
    error => refuse(messageOf(error)),
  );
}

const NOTHING: readonly never[] = Object.freeze([]);

/** What the tool says of the call. A tool that cannot say what it works on or wants to do does not run; a missing summary stops nothing. */
async function askTool(
  input: unknown,
  live: BoundTool['live'],
): Promise<Pick<PreparedCall, 'resources' | 'access' | 'summary'>> {
  const resource = await live.resource?.(input);
  const resources =
    resource === undefined ? NOTHING : (Array.isArray(resource) ? resource : [resource]).map(resourceFrom);
  const access = live.access === undefined ? NOTHING : [...(await live.access(input))].map(accessFrom);
  return { resources, access, summary: await summaryOf(live, input) };
}

/** A copy, read once: what the tool does to its own later changes nothing. */
function resourceFrom(claim: unknown): Resource {
  if (typeof claim === 'string') return claim;
  const key = fieldOf(claim, 'key');
  if (typeof key !== 'string') throw new TypeError('the tool named a resource that is neither a key nor { key, mode }');
  return { key, mode: fieldOf(claim, 'mode') === 'read' ? 'read' : 'write' };
}

function accessFrom(request: unknown): AccessRequest {
  const action = fieldOf(request, 'action');
  const target = fieldOf(request, 'target');
  const description = fieldOf(request, 'description');
  if (typeof action !== 'string' || typeof target !== 'string') {
    throw new TypeError('the tool asked for access without naming an action and a target');
  }
  return Object.freeze(typeof description === 'string' ? { action, target, description } : { action, target });
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

async function summaryOf(live: BoundTool['live'], input: unknown): Promise<string | undefined> {
  try {
    const summary = await live.summary?.(input);
    return typeof summary === 'string' ? cleanMessage(summary.split('\n', 1)[0] ?? '').slice(0, 200) : undefined;
  } catch {
    return undefined; // a line for people, not worth a call
  }
}
