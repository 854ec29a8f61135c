/** Beside the session: what its last turn has used, what waits, and what the bars mean. */
import type { VNode } from 'preact';
import type { SessionDetails } from '../engines/host.ts';
import { Gauges, UsageBars } from '../report/components/gauges.tsx';
import { TimelineLegend } from '../report/components/timeline.tsx';
import { countText, durationText, tokensText } from '../report/model/format.ts';
import { gaugesOf } from '../report/model/gauges.ts';
import type { SessionView, TurnView } from '../report/model/view.ts';
import { Time } from './time.tsx';

/** The gauges in one line, for where there is no room for bars. */
export function gaugesLine(turn: TurnView, now: number): string {
  return gaugesOf(turn, now)
    .map(({ label, used, max, unit }) => {
      const show = unit === 'ms' ? durationText : unit === 'tokens' ? tokensText : countText;
      return `${label} ${show(used)}${max === undefined ? '' : ` of ${show(max)}`}`;
    })
    .join(' · ');
}

export function Inspector(props: {
  readonly view: SessionView;
  readonly details: SessionDetails | undefined;
  readonly now: number;
}): VNode {
  const { view, details, now } = props;
  const turn = view.turns.at(-1);
  return (
    <div class="inspector-parts">
      {turn === undefined ? null : (
        <section>
          <h3>Turn {view.turns.length} against its limits</h3>
          <Gauges turn={turn} now={now} />
        </section>
      )}
      {turn === undefined || turn.steps.length === 0 ? null : (
        <section>
          <UsageBars steps={turn.steps} />
        </section>
      )}
      <section>
        <h3>Session</h3>
        <dl class="facts">
          {turn === undefined ? null : (
            <>
              <div>
                <dt>Turn began</dt>
                <dd>
                  <Time at={turn.startedAt} />
                </dd>
              </div>
              <div>
                <dt>It took</dt>
                <dd>{durationText((turn.endedAt ?? now) - turn.startedAt)}</dd>
              </div>
            </>
          )}
          <div>
            <dt>Loop</dt>
            <dd>{details?.loop ?? view.loop ?? ''}</dd>
          </div>
          <div>
            <dt>Id</dt>
            <dd class="id">{details?.sessionId ?? view.sessionId}</dd>
          </div>
        </dl>
      </section>
      <section>
        <h3>Bars</h3>
        <TimelineLegend />
      </section>
    </div>
  );
}
