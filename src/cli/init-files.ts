/** What `looprig init` writes. Nothing in these files needs its types: they run as JavaScript too. */

/** The files of a new loop, by name. */
export interface NewLoop {
  /** `looprig.config` with an ending that Node runs in this folder. */
  readonly config: string;
  readonly test: string;
}

/** A loop with one tool, and a model that needs no key. */
export function configText(): string {
  return `import { defineLoop, defineTool } from 'looprig';
import { defineConfig } from 'looprig/config';
import { forever, scriptedModel } from 'looprig/testing';

export const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a text.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => ({ words: text.split(/\\s+/).filter(word => word !== '').length }),
});

// It stands in for a model, so that all of this runs without a key: it calls the tool, then answers. Put one of AI SDK
// in its place, such as anthropic('claude-sonnet-4-5'), or name one when you run it: --model anthropic/claude-sonnet-4-5
const standIn = scriptedModel(
  forever(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? { text: 'That is what the tool counted. I am only a stand-in: give me a real model.' }
      : { calls: [{ tool: 'count_words', input: { text: 'five words are in here' } }] },
  ),
);

export const counter = defineLoop({
  name: 'counter',
  description: 'Counts words',
  model: standIn,
  system: 'You answer questions about texts. Count with your tool, never by yourself.',
  tools: [countWords],
  limits: { iterations: 10, calls: 20 },
});

export default defineConfig({ loops: [counter] });
`;
}

/** A test of that loop, for the test runner that Node brings along. */
export function testText({ config }: NewLoop): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineRig } from 'looprig';
import { collect, scriptedModel } from 'looprig/testing';
import { counter } from './${config}';

test('the model is told how many words there are', async () => {
  const model = scriptedModel([
    { calls: [{ tool: 'count_words', input: { text: ' one  two three ' } }] },
    { text: 'Three.' },
  ]);
  const rig = defineRig({ loops: [counter.extend({ model })] });
  const session = await rig.open();

  const { events, result } = await collect(session.submit('How many words?'));
  await session.close();

  const completed = events.find(event => event.type === 'tool.completed');
  assert.deepEqual(completed?.output, { type: 'json', value: { words: 3 } });
  assert.equal(result.status === 'done' && result.text, 'Three.');
  model.assertUsed();
});
`;
}

/** The package of a folder that is none yet. */
export function packageText(name: string, version: string): string {
  const content = {
    name,
    private: true,
    type: 'module',
    scripts: { test: 'node --test' },
    dependencies: { looprig: `^${version}` },
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
