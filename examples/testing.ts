// An agent's test: a scripted model, scripted tools and a clock that the test moves. Ten minutes pass in no time.
import assert from 'node:assert/strict';
import { defineLoop, defineRig } from 'looprig';
import { assertPaired, collect, manualClock, scriptedModel, scriptedTool } from 'looprig/testing';

const clock = manualClock();
const slow = scriptedTool('slow', { hangs: true }); // never settles, whatever its signal says
const quick = scriptedTool('quick', { returns: { found: 3 }, sleepMs: 500, clock });
const model = scriptedModel(
  [
    { error: Object.assign(new Error('overloaded'), { isRetryable: true }) },
    { text: 'Let me look.', calls: [{ tool: 'slow' }, { tool: 'quick', input: { word: 'lamp' } }, { tool: 'quikc' }] },
    { text: 'There are 3 lamps.' },
  ],
  { clock },
);
const loop = defineLoop({ name: 'agent', model, tools: [slow.definition, quick.definition] });

await using session = await defineRig({ loops: [loop], clock }).open();
const { events, result } = await clock.runUntil(collect(session.submit('How many lamps?')));

assert.equal(result.status, 'done');
assert.equal(result.text, 'There are 3 lamps.');
const completed = events.filter(event => event.type === 'tool.completed');
assert.deepEqual(
  completed.map(({ toolName, outcome }) => `${toolName} ${outcome}`),
  ['quikc refused', 'quick done', 'slow timed_out'], // in the order of finishing
);
assert.ok(events.some(event => event.type === 'step.retrying'));
assert.deepEqual(quick.runs[0]?.input, { word: 'lamp' });
assert.equal(model.requests.length, 3);
assert.match(JSON.stringify(model.requests[2]?.prompt), /did you mean \\"quick\\"/);
assertPaired(session.history);
model.assertUsed();
console.log(`${events.length} events, ${Math.round(clock.now() / 60_000)} minutes on the clock: all as expected`);
