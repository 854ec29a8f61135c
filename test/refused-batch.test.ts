/** A batch that goes beyond a limit is counted and does not run: gauges tell the two apart, in the command line as in reports and the studio. */
import type { SessionEvent, ToolLimits, TurnEvent } from 'looprig';
import { manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { finalGauges, liveGauges } from '../src/cli/gauges.ts';
import { TurnProgress } from '../src/cli/turn-progress.ts';
import { viewOf } from '../src/report/index.ts';
import { gaugesOf } from '../src/report/model/gauges.ts';
import { open, play } from './cases/setup.ts';

const asking = (count: number): ScriptedReply => ({ calls: Array.from({ length: count }, () => ({ tool: 'look' })) });

/** The events of a turn in which two calls run, and then three are asked for. */
async function eventsOf(limits: ToolLimits, atLimit: 'answer' | 'fail'): Promise<readonly SessionEvent[]> {
  const clock = manualClock();
  const model = scriptedModel([asking(2), asking(3), { text: 'enough' }].slice(0, atLimit === 'fail' ? 2 : 3), {
    clock,
  });
  const opened = await open({ model, tools: [scriptedTool('look')], clock, limits, atLimit });
  await play(opened);
  return opened.events;
}

describe.each(['answer', 'fail'] as const)('at a limit of a loop whose turns then %s', atLimit => {
  it.each<readonly [limits: ToolLimits, told: readonly string[]]>([
    [{ iterations: 1 }, ['iterations 1/1 (and 1 refused)', 'calls 2/100 (and 3 refused)']],
    [{ calls: 4 }, ['iterations 1/25 (and 1 refused)', 'calls 2/4 (and 3 refused)']],
    [{ calls: 5 }, ['iterations 2/25', 'calls 5/5']],
  ])('%j: what ran is told, and beside it what was refused', async (limits, told) => {
    const events = await eventsOf(limits, limits.calls === 5 ? 'answer' : atLimit);
    const progress = new TurnProgress();
    for (const event of events) {
      if ('turnId' in event) progress.apply(event as TurnEvent);
      // Never more than there may be, at any moment.
      for (const [, used, max] of liveGauges(progress, 0, 80).matchAll(/(\d+)\/(\d+)/g)) {
        expect(Number(used)).toBeLessThanOrEqual(Number(max));
      }
    }
    expect(finalGauges(progress, 0).slice(1, 3)).toEqual(told);
    const [turn] = viewOf(events).turns;
    const gauges = gaugesOf(turn!, 0).slice(0, 2);
    const lines = gauges.map(({ name, used, max, refused }) => {
      return `${name} ${used}/${max}${refused === undefined ? '' : ` (and ${refused} refused)`}`;
    });
    expect(lines).toEqual(told);
  });
});
