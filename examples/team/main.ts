/**
 * A team: a lead who gives work to two researchers at the same time, and a writer who may work only when a reviewer has looked. All of them
 * live on the lead's budget. `node examples/team/main.ts [TASK]`
 */
import { anthropic } from '@ai-sdk/anthropic';
import {
  defineLoop,
  defineRig,
  defineTool,
  delegate,
  delegateEventOf,
  type LanguageModel,
  type TurnEvent,
} from 'looprig';
import { forever, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

/** The provider's model, or without a key one that plays its part: what it says depends on what it is shown. */
const modelOr = (play: (shown: string) => ScriptedReply): LanguageModel => {
  if (process.env.ANTHROPIC_API_KEY) return anthropic('claude-sonnet-4-5');
  return scriptedModel(forever(({ prompt }) => play(JSON.stringify(prompt))));
};

const FACTS: Readonly<Record<string, string>> = { tram: '12 km, 9 stops', bus: '14 km, 22 stops' };
const lookUp = defineTool({
  name: 'look_up',
  description: 'What is known of a line: "tram" or "bus".',
  input: z.object({ line: z.string() }),
  execute: ({ line }) => FACTS[line] ?? 'nothing is known',
});

const researcher = defineLoop({
  name: 'researcher',
  model: modelOr(shown => {
    const line = shown.includes('Research the tram') ? 'tram' : 'bus';
    return shown.includes('stops')
      ? { text: `The ${line}: ${FACTS[line]}.` }
      : { calls: [{ tool: 'look_up', input: { line } }] };
  }),
  system: 'You look one thing up, and report in one sentence.',
  tools: [lookUp],
  limits: { iterations: 4 },
});

const reviewer = defineLoop({
  name: 'reviewer',
  model: modelOr(shown => ({
    text: shown.includes('9 stops')
      ? '{"isGood":true,"why":"it has the figures"}'
      : '{"isGood":false,"why":"no figures"}',
  })),
  system: 'You say whether a text compares both lines with figures.',
  tools: [],
  output: z.object({ isGood: z.boolean(), why: z.string() }), // what the writer gets is data, and no prose
  outputMode: 'native',
});

const writer = defineLoop({
  name: 'writer',
  model: modelOr(shown => {
    const text = 'The tram has 9 stops on 12 km, the bus 22 on 14 km: the tram is quicker.';
    return shown.includes('isGood') ? { text } : { calls: [{ tool: 'review', input: { task: text } }] };
  }),
  system: 'You write two sentences from what you are given. Have them reviewed before you hand them in.',
  tools: [delegate(reviewer, { name: 'review', description: 'Reviews a text.' })],
  limits: { iterations: 5 },
});

const lead = defineLoop({
  name: 'lead',
  model: modelOr(shown => {
    if (shown.includes('is quicker')) return { text: 'Take the tram: fewer stops, and a shorter way.' };
    const tasks = ['tram', 'bus'].map(line => ({ tool: 'researcher', input: { task: `Research the ${line}.` } }));
    return shown.includes('22 stops')
      ? { calls: [{ tool: 'writer', input: { task: `Compare: ${Object.values(FACTS).join('; ')}` } }] }
      : { calls: tasks };
  }),
  system: 'You have research done side by side, have it written up, and answer from that.',
  tools: [
    delegate(researcher, { description: 'Looks one thing up.', limits: { calls: 5 } }),
    delegate(writer, { description: 'Writes up what was found.' }),
  ],
  limits: { iterations: 6, tokens: 100_000 }, // for the whole team
});

await using session = await defineRig({ loops: [lead] }).open();
const turn = session.submit(process.argv[2] ?? 'Should I take the tram or the bus?');
for await (const event of turn) show(event, 0);
const result = await turn.result;
console.log(result.status === 'done' ? result.text : `It ended ${result.status}.`);
console.log(`together: ${(result.usage.inputTokens ?? 0) + (result.usage.outputTokens ?? 0)} tokens`);

/** Calls as they end, those of a delegate one step further in; a delegate's delegate is within its events. */
function show(event: TurnEvent, depth: number): void {
  const inner = delegateEventOf(event)?.event;
  if (inner !== undefined && 'turnId' in inner) show(inner as TurnEvent, depth + 1);
  if (event.type !== 'tool.completed') return;
  const said = 'value' in event.output ? event.output.value : '';
  console.log(`${'  '.repeat(depth)}${event.toolName} → ${typeof said === 'string' ? said : JSON.stringify(said)}`);
}
