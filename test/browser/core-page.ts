/** The script of a page that runs looprig alone, with a model of its own. The test calls what it leaves in `globalThis`. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { defineLoop, defineRig, defineTool, memoryStore, type ToolReturn } from 'looprig';

/** Two calls at first, and an answer to their results then: as a provider's model streams them. */
const model: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'page',
  modelId: 'page-model',
  supportedUrls: {},
  async doGenerate() {
    throw new Error('a loop that streams asks for no whole response');
  },
  async doStream({ prompt }) {
    const results = prompt.at(-1)?.role === 'tool';
    return { stream: streamOf(results ? answer() : calls()) };
  },
};

/** As `ReadableStream.from`, which Chromium does not have. */
function streamOf(parts: Iterator<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    pull(controller) {
      const { done, value } = parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

function* calls(): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: '{"a":2,"b":3}' };
  yield { type: 'tool-call', toolCallId: 'c2', toolName: 'save', input: '{"text":"five"}' };
  yield { type: 'tool-call', toolCallId: 'c3', toolName: 'add', input: '{"a":"two","b":3}' };
  yield finish('tool-calls');
}

function* answer(): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: 't' };
  for (const delta of ['It is ', '5.']) yield { type: 'text-delta', id: 't', delta };
  yield { type: 'text-end', id: 't' };
  yield finish('stop');
}

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart {
  const inputTokens = { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  const outputTokens = { total: 5, text: undefined, reasoning: undefined };
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: { inputTokens, outputTokens } };
}

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  execute: (input): ToolReturn => {
    const { a, b } = input as { readonly a: number; readonly b: number };
    return a + b;
  },
});

const saved: string[] = [];
const save = defineTool({
  name: 'save',
  description: 'Keeps a text.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  access: () => [{ action: 'page.save', target: 'the page' }],
  summary: () => 'keep a text in the page',
  execute: input => {
    const { text } = input as { readonly text: string };
    saved.push(text);
    return 'kept';
  },
});

const loop = defineLoop({ name: 'adder', model, tools: [add, save], limits: { iterations: 3 } });

/** One turn, whose gate is answered; and the session once more, as its journal has it. */
async function runTurn(): Promise<unknown> {
  const store = memoryStore();
  const rig = defineRig({ loops: [loop], store, gate: { ask: true } });
  const session = await rig.open();
  const turn = session.submit('What is 2 and 3? Keep it.');
  const events: string[] = [];
  const asked: string[] = [];
  for await (const event of turn) {
    events.push(event.type);
    if (event.type !== 'gate.opened') continue;
    asked.push(event.summary ?? '', String(saved.length));
    await session.answer(event.gateId, { decision: 'approve' });
  }
  const result = await turn.result;
  const { history, id: sessionId } = session;
  await session.close();
  await using again = await rig.open({ sessionId });
  return {
    result,
    events,
    asked,
    saved,
    history,
    isRestored: JSON.stringify(again.history) === JSON.stringify(history),
  };
}

/** What a program is told that gives a page a folder to work in. */
async function openFolder(): Promise<string> {
  try {
    await defineRig({ loops: [loop], workspace: '/anywhere' }).open();
    return 'opened';
  } catch (error) {
    return String(error);
  }
}

Object.assign(globalThis, { runTurn, openFolder });
