import { defineLoop, memoryStore } from 'looprig';
import { defineConfig, type LooprigConfig } from 'looprig/config';
import { scriptedModel } from 'looprig/testing';
import { expectTypeOf } from 'vitest';

const clerk = defineLoop({ name: 'clerk', model: scriptedModel([]) });

const config = defineConfig({
  loops: [clerk],
  store: memoryStore(),
  workspace: '.',
  gate: { ask: true },
  secrets: { key: 'x' },
});
expectTypeOf(config).toExtend<LooprigConfig>();
expectTypeOf(config.loops[0].name).toEqualTypeOf<'clerk'>();

// @ts-expect-error: a configuration has loops
defineConfig({ workspace: '.' });
// @ts-expect-error: loops are definitions
defineConfig({ loops: [{ name: 'clerk' }] });
// @ts-expect-error: there is no such option
defineConfig({ loops: [clerk], worksapce: '.' });
// @ts-expect-error: an option of another type
defineConfig({ loops: [clerk], gate: { ask: 'yes' } });
// @ts-expect-error: the command line has a clock of its own
defineConfig({ loops: [clerk], clock: undefined });
