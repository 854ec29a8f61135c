/**
 * The demo model: a model in name only, for trying looprig with nothing set up. It uses no network and understands nothing; it plans
 * by rule with the tools that read a workspace, and says in words what they showed. It keeps no state: each step is decided
 * from the prompt, so that a turn goes on after a restart as if nothing had been.
 */
import { type Clock, systemClock } from '../clock.ts';
import type { FinishReason, LanguageModel, ModelContent, ModelRequest, ModelStreamPart, ModelUsage } from '../index.ts';
import { demoAnswer } from './demo-answer.ts';
import { DEMO_TOOLS, nextStep } from './demo-plan.ts';
import { readWork } from './demo-work.ts';

/** How the demo model talks. */
export interface DemoModelOptions {
  /** How long it waits before each word, in milliseconds, so that people can watch it. Default 0. */
  readonly delayMs?: number;
  /** The clock it waits by. Default the platform's. */
  readonly clock?: Clock;
}

/** The offline demo model: provider `looprig`, model `demo`. */
export function demoModel({ delayMs = 0, clock = systemClock }: DemoModelOptions = {}): LanguageModel {
  return {
    specificationVersion: 'v4',
    provider: 'looprig',
    modelId: 'demo',
    supportedUrls: {},
    async doGenerate(request) {
      request.abortSignal?.throwIfAborted();
      const { warnings, ...response } = respond(request);
      return { ...response, warnings, response: { modelId: 'demo' } };
    },
    async doStream(request) {
      request.abortSignal?.throwIfAborted();
      const parts = streamParts(respond(request))[Symbol.iterator]();
      const pause = (): Promise<void> => new Promise(resolve => clock.setTimer(resolve, delayMs));
      return {
        stream: new ReadableStream<ModelStreamPart>({
          async pull(controller) {
            const { value, done } = parts.next();
            if (delayMs > 0 && value?.type.endsWith('-delta')) await pause();
            request.abortSignal?.throwIfAborted();
            if (done) controller.close();
            else controller.enqueue(value);
          },
        }),
      };
    },
  };
}

type Warnings = Extract<ModelStreamPart, { type: 'stream-start' }>['warnings'];

interface DemoResponse {
  readonly content: ModelContent[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
  readonly warnings: Warnings;
}

/** The whole response to a request: decided at once, streamed later. */
function respond(request: ModelRequest): DemoResponse {
  const work = readWork(request);
  const offered = (request.tools ?? []).filter(tool => tool.type === 'function').map(tool => tool.name);
  const step = nextStep(work, new Set(offered));
  const content: ModelContent[] =
    step.kind === 'answer'
      ? [
          { type: 'reasoning', text: 'Now I sum up what I have seen.' },
          { type: 'text', text: demoAnswer(work) },
        ]
      : [
          { type: 'reasoning', text: step.thought },
          ...step.calls.map(({ toolName, input }, index): ModelContent => {
            // The place in the prompt makes the id the same on every run, and another one in every step.
            const toolCallId = `demo-${request.prompt.length}-${index + 1}`;
            return { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) };
          }),
        ];
  const unified = step.kind === 'answer' ? 'stop' : 'tool-calls';
  return {
    content,
    finishReason: { unified, raw: undefined },
    usage: estimatedUsage(request, content),
    warnings: warningsFor(request, offered),
  };
}

function warningsFor({ responseFormat }: ModelRequest, offered: readonly string[]): Warnings {
  const warnings: Warnings = [];
  if (responseFormat?.type === 'json') {
    warnings.push({ type: 'unsupported', feature: 'responseFormat', details: 'the demo model answers in text only' });
  }
  const isUsable = DEMO_TOOLS.some(tool => offered.includes(tool));
  if (offered.length > 0 && !isUsable) {
    const message = `the demo model only knows the tools ${DEMO_TOOLS.join(', ')}, and none of them is offered`;
    warnings.push({ type: 'other', message });
  }
  return warnings;
}

/** An estimate, since nothing here has tokens: four characters count as one. */
function estimatedUsage({ prompt, tools }: ModelRequest, content: readonly ModelContent[]): ModelUsage {
  const tokens = (characters: number): number => Math.ceil(characters / 4);
  const input = tokens(JSON.stringify([prompt, tools ?? []]).length);
  let text = 0;
  let reasoning = 0;
  for (const part of content) {
    if (part.type === 'reasoning') reasoning += tokens(part.text.length);
    else if (part.type === 'text') text += tokens(part.text.length);
    else if (part.type === 'tool-call') text += tokens(part.toolName.length + part.input.length);
  }
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: text + reasoning, text, reasoning },
  };
}

function* streamParts({ content, finishReason, usage, warnings }: DemoResponse): Generator<ModelStreamPart, void> {
  yield { type: 'stream-start', warnings };
  yield { type: 'response-metadata', modelId: 'demo' };
  for (const [index, part] of content.entries()) {
    const id = String(index);
    if (part.type === 'reasoning') {
      yield { type: 'reasoning-start', id };
      for (const delta of words(part.text)) yield { type: 'reasoning-delta', id, delta };
      yield { type: 'reasoning-end', id };
    } else if (part.type === 'text') {
      yield { type: 'text-start', id };
      for (const delta of words(part.text)) yield { type: 'text-delta', id, delta };
      yield { type: 'text-end', id };
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName };
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input };
      yield { type: 'tool-input-end', id: part.toolCallId };
      yield part;
    }
  }
  yield { type: 'finish', finishReason, usage };
}

/** A text word by word, each with the white space after it: together they are the text. */
function words(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? [text];
}
