/// <reference path="./css.d.ts" />
/** A session as one document: no script, nothing from elsewhere, and every text of the model, of tools and of people as text. */
import type { VNode } from 'preact';
import { renderToStaticMarkup } from 'preact-render-to-string';
import { MostCharacters } from './components/contents.tsx';
import { Gauges, UsageBars } from './components/gauges.tsx';
import { Icon, Patterns, STATE_LOOKS } from './components/icons.tsx';
import { TimelineLegend } from './components/timeline.tsx';
import { Steered, StepBody, TurnEnd, TurnHead } from './components/turn.tsx';
import { counted, durationText, inputText, lineText, TURN_WORDS, timeText, tokensText } from './model/format.ts';
import type { SessionView, TurnView } from './model/view.ts';
import base from './style/base.css?inline';
import parts from './style/parts.css?inline';
import own from './style/report.css?inline';

/** Steps beyond this are not drawn: the first of them are left out. */
const MOST_STEPS = 2_000;

/** All contents together, roughly: of many, each may have less. */
const MOST_IN_ALL = 4_000_000;
const LEAST_OF_EACH = 500;

/** The document of a session. */
export function renderPage(view: SessionView, title: string | undefined, mostCharacters: number): string {
  const contents = view.turns.reduce((sum, turn) => sum + turn.calls * 2 + turn.steps.length, 1);
  const most = Math.max(LEAST_OF_EACH, Math.min(mostCharacters, Math.floor(MOST_IN_ALL / contents)));
  const markup = renderToStaticMarkup(
    <MostCharacters.Provider value={most}>
      <Document view={view} title={title ?? titleOf(view)} />
    </MostCharacters.Provider>,
  );
  return `<!doctype html>\n${markup}\n`;
}

function titleOf({ turns }: SessionView): string {
  const words = turns.map(({ input }) => lineText(inputText(input), 80)).find(text => text !== '');
  return words ?? 'A session without a turn';
}

/** No script and no request, whatever stands in the document. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

function Document({ view, title }: { readonly view: SessionView; readonly title: string }): VNode {
  const { turns, at, sessionId, loop } = view;
  const steps = turns.reduce((sum, turn) => sum + turn.steps.length, 0);
  const calls = turns.reduce((sum, turn) => sum + turn.calls, 0);
  const tokens = turns.reduce((sum, turn) => sum + turn.usage.totalTokens, 0);
  const firstShown = Math.max(0, steps - MOST_STEPS);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={POLICY} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <title>{title}</title>
        <style dangerouslySetInnerHTML={{ __html: `${base}${parts}${own}` }} />
      </head>
      <body>
        <Patterns />
        <main>
          <header class="title">
            <h1>{title}</h1>
            <p>
              {loop === undefined ? null : <span>loop {loop}</span>}
              <span>session {sessionId === '' ? 'unknown' : sessionId}</span>
              <span>
                {[counted(turns.length, 'turn'), counted(steps, 'step'), counted(calls, 'call')].join(' · ')} ·{' '}
                {tokensText(tokens)} tokens
              </span>
              {turns[0] === undefined ? null : (
                <span>
                  {timeText(turns[0].startedAt)}, {durationText(at - turns[0].startedAt)}
                </span>
              )}
            </p>
            <TimelineLegend />
          </header>
          {firstShown > 0 ? <p class="note">The first {counted(firstShown, 'step')} are left out.</p> : null}
          <Turns view={view} firstShown={firstShown} />
          {view.waiting.map(({ inputId, input, as }) => (
            <section class="turn" key={inputId}>
              <h2 class="visually-hidden">Waiting</h2>
              <p class="note">{as === 'turn' ? 'Waits for its turn:' : 'Waits to be told to the turn:'}</p>
              <div class="prose prose-plain">{inputText(input)}</div>
            </section>
          ))}
        </main>
      </body>
    </html>
  );
}

function Turns({ view, firstShown }: { readonly view: SessionView; readonly firstShown: number }): VNode {
  let before = 0;
  const sections = view.turns.map((turn, index) => {
    const from = Math.max(0, firstShown - before);
    before += turn.steps.length;
    return <Turn key={turn.turnId} turn={turn} index={index} from={from} now={view.at} />;
  });
  return <>{sections}</>;
}

function Turn(props: {
  readonly turn: TurnView;
  readonly index: number;
  readonly from: number;
  readonly now: number;
}): VNode {
  const { turn, index, from, now } = props;
  const told = (place: number): VNode[] =>
    turn.steered.filter(({ before }) => before === place).map(said => <Steered key={said.inputId} steered={said} />);
  return (
    <section class="turn" aria-label={`Turn ${index + 1}`}>
      <h2 class="visually-hidden">Turn {index + 1}</h2>
      <TurnHead turn={turn} index={index} />
      <div class="overview">
        <Gauges turn={turn} now={now} />
        <UsageBars steps={turn.steps} />
      </div>
      {turn.steps.slice(from).map((step, place) => (
        <>
          {told(from + place)}
          <article class="step" key={step.stepId}>
            <StepBody step={step} parallel={turn.limits.parallel} isOver={turn.end !== undefined} now={now} />
          </article>
        </>
      ))}
      {told(turn.steps.length)}
      {turn.end === undefined ? (
        <p class="turn-end">
          <span class="state">
            <Icon look={STATE_LOOKS[turn.state] ?? 'running'} /> {TURN_WORDS[turn.state]}
          </span>
          <span class="muted"> when this report was made</span>
        </p>
      ) : (
        <TurnEnd turn={turn} />
      )}
    </section>
  );
}
