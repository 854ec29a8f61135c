/**
 * One model call: the request, its retries, and the reading of the response. Decides nothing about the turn.
 */
import { STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import { ModelError } from '../errors.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { LanguageModel, ModelRequest, ModelStreamPart } from '../model/model.ts';
import type { TurnContext } from './context.ts';
import { STOPPED } from './interruption.ts';
import { modelRequest, type StepRequest } from './request.ts';
import { type ModelResponse, ResponseBuilder } from './response.ts';
import { failureText, retryDelay } from './retry.ts';

/** How a step's model call ended. */
export type StepReply =
  | { readonly kind: 'response'; readonly response: ModelResponse; readonly attempts: number }
  | { readonly kind: 'stopped'; readonly partial: ResponseBuilder }
  | { readonly kind: 'failed'; readonly error: ModelError; readonly partial: ResponseBuilder };

/** Asks the model, again where that may help, and gives its response or why there is none. */
export async function requestModel(turn: TurnContext, step: StepRequest): Promise<StepReply> {
  for (let attempt = 1; ; attempt++) {
    const builder = new ResponseBuilder();
    if (turn.interruption.cause !== undefined) return { kind: 'stopped', partial: builder };
    const request = modelRequest(turn, step);
    let failure: AttemptFailure | undefined;
    try {
      if (turn.behaviour.stream) failure = await stream(turn, step, request, builder);
      else takeWhole(await turn.interruption.race(turn.mode.model.doGenerate(request)), builder);
      if (turn.interruption.cause !== undefined) return { kind: 'stopped', partial: builder };
      failure ??= givenUp(builder);
      if (failure === undefined)
        return { kind: 'response', response: builder.build(turn.hasCallId), attempts: attempt };
    } catch (cause) {
      // Whatever the provider throws or sends, it is why the attempt failed.
      failure = { kind: builder.text() === '' ? 'request_failed' : 'stream_broken', cause };
    }
    if (turn.interruption.cause !== undefined) return { kind: 'stopped', partial: builder };
    const delayMs = retryDelay(failure, attempt, turn.behaviour.modelRetries, turn.random(), turn.clock.now());
    if (delayMs === undefined) return { kind: 'failed', error: modelError(failure, attempt), partial: builder };
    const retrying: JournalEntry = {
      type: 'step.retrying',
      turnId: turn.turnId,
      stepId: step.stepId,
      attempt: attempt + 1,
      delayMs,
      reason: failureText(failure.cause),
    };
    await turn.append([retrying]);
    // What the attempt had shown was taken back.
    const waited = await turn.interruption.race(sleep(turn, delayMs));
    if (waited === STOPPED) return { kind: 'stopped', partial: new ResponseBuilder() };
  }
}

/** Why an attempt gave no response. */
interface AttemptFailure {
  readonly kind: 'request_failed' | 'stream_broken' | 'provider_error';
  readonly cause: unknown;
}

function givenUp({ gaveUp }: ResponseBuilder): AttemptFailure | undefined {
  if (!gaveUp) return undefined;
  return { kind: 'provider_error', cause: new Error('it finished with an error and no content') };
}

type WholeResponse = Awaited<ReturnType<LanguageModel['doGenerate']>>;

/** Takes a response that came whole; nothing of one that came too late. */
function takeWhole(generated: WholeResponse | typeof STOPPED, builder: ResponseBuilder): undefined {
  if (generated === STOPPED) return;
  if (!Array.isArray(generated?.content)) throw new TypeError('the provider gave no list of content');
  for (const part of generated.content) builder.addWhole(part);
  builder.finish(generated.finishReason, generated.usage);
}

async function stream(
  turn: TurnContext,
  step: StepRequest,
  request: ModelRequest,
  builder: ResponseBuilder,
): Promise<AttemptFailure | undefined> {
  const streaming = turn.mode.model.doStream(request);
  const started = await turn.interruption.race(streaming);
  if (started === STOPPED) {
    // A stream that comes after all is not left open.
    streaming.then(({ stream: late }) => late.cancel()).then(undefined, () => {});
    return undefined;
  }
  if (typeof started?.stream?.getReader !== 'function') throw new TypeError('the provider gave no stream of parts');
  const reader = started.stream.getReader();
  const reading = await readAll(turn, step, reader, builder);
  if (reading === STOPPED) {
    // Nobody waits for this: a stream that does not heed it is left behind.
    void Promise.resolve()
      .then(() => reader.cancel())
      .catch(() => {});
    return undefined;
  }
  if (builder.error !== undefined) return { kind: 'stream_broken', cause: builder.error.cause };
  if (!builder.isFinished) {
    return { kind: 'stream_broken', cause: new Error('the response ended before it was finished') };
  }
  return undefined;
}

/** Reads the stream to its end, or until the turn is stopped. By callbacks, since an async function that is resumed for every delta costs more than what it does. */
function readAll(
  turn: TurnContext,
  { stepId }: StepRequest,
  reader: ReadableStreamDefaultReader<ModelStreamPart>,
  builder: ResponseBuilder,
): Promise<typeof STOPPED | undefined> {
  const { interruption } = turn;
  const inputs = new Map<string, string>();
  return new Promise((resolve, reject) => {
    const off = interruption.onStop(() => resolve(STOPPED));
    const fail = (error: unknown): void => {
      off();
      reject(error);
    };
    const readNext = (): void => {
      // What a provider gives may be no promise.
      Promise.resolve(reader.read()).then(take, fail);
    };
    const take = ({ done, value }: ReadableStreamReadResult<ModelStreamPart>): void => {
      if (interruption.cause !== undefined) return;
      try {
        if (done) {
          off();
          resolve(undefined);
          return;
        }
        builder.add(value);
        if (turn.watched) emitDelta(turn, stepId, value, inputs);
        readNext();
      } catch (error) {
        fail(error);
      }
    };
    readNext();
  });
}

/** Readers are told only what is what it should be: a provider may send anything. */
function emitDelta(turn: TurnContext, stepId: string, part: ModelStreamPart, inputs: Map<string, string>): void {
  switch (part.type) {
    case 'text-delta':
      if (typeof part.delta === 'string') turn.emitText('text.delta', stepId, part.delta);
      break;
    case 'reasoning-delta':
      if (typeof part.delta === 'string') turn.emitText('reasoning.delta', stepId, part.delta);
      break;
    case 'tool-input-start':
      if (typeof part.toolName !== 'string' || part.toolName === STRUCTURED_OUTPUT_TOOL_NAME) break;
      if (part.providerExecuted !== true) inputs.set(part.id, part.toolName);
      break;
    case 'tool-input-delta': {
      const { id: inputId, delta: text } = part;
      const toolName = inputs.get(inputId);
      if (toolName === undefined || typeof inputId !== 'string' || typeof text !== 'string') break;
      turn.emit({ type: 'tool.input.delta', stepId, inputId, toolName, text });
      break;
    }
    default:
      break;
  }
}

function sleep(turn: TurnContext, ms: number): Promise<void> {
  return new Promise(resolve => turn.deadlines.set(ms, resolve));
}

function modelError(failure: AttemptFailure, attempts: number): ModelError {
  const what = {
    request_failed: 'the model request failed',
    stream_broken: 'the model response broke off',
    provider_error: 'the provider gave no answer',
  }[failure.kind];
  const times = attempts === 1 ? '' : ` ${attempts} times`;
  return new ModelError(failure.kind, `${what}${times}: ${failureText(failure.cause)}`, {
    attempts,
    cause: failure.cause,
  });
}
