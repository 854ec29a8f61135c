/**
 * What fragments in documents take for granted, as real values: a model that looks something up and answers, a tool, a loop, a rig in
 * memory, and an open session with a turn. `test/docs.test.ts` declares their types.
 */
import { defineLoop, defineRig, defineTool, type LanguageModel, memoryStore } from 'looprig';
import { forever, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

/** The model of all fragments: it searches once for whatever a user says, and then answers. */
function answeringModel(): LanguageModel {
  return scriptedModel([
    forever(({ prompt, tools, responseFormat }) => {
      const offered = tools?.map(({ name }) => name) ?? [];
      if (offered.includes('search') && prompt.at(-1)?.role === 'user')
        return { text: 'Let me look.', calls: [{ tool: 'search', input: { query: 'lamps' } }] };
      const isTyped = responseFormat?.type === 'json' || offered.includes('_looprig_final_output');
      return { text: isTyped ? '{"stars":4,"why":"It is short and clear."}' : 'There is nothing new.' };
    }),
  ]);
}

export interface Surroundings extends AsyncDisposable {
  /** Taken by the block that runs next. Each may be replaced before it does. */
  readonly globals: Record<string, unknown>;
}

/** New values, of which nothing else knows. */
export async function surroundings(): Promise<Surroundings> {
  const model = answeringModel();
  const search = defineTool({
    name: 'search',
    description: 'Looks something up.',
    input: z.object({ query: z.string() }),
    execute: ({ query }) => `nothing new about ${query}`,
  });
  const agent = defineLoop({ name: 'agent', model, tools: [search] });
  const rig = defineRig({ loops: [agent], store: memoryStore() });
  const session = await rig.open();
  const turn = session.submit('What is new?');
  await turn.result;
  return {
    globals: { model, search, agent, rig, session, turn },
    [Symbol.asyncDispose]: () => session.close(),
  };
}
