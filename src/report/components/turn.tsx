/** A turn, piece by piece: what was said, its steps, and how it ended. */
import type { VNode } from 'preact';
import { counted, countText, durationText, inputText, TURN_WORDS, tokensText } from '../model/format.ts';
import type { SteeredInput, StepView, TurnView } from '../model/view.ts';
import { Clipped } from './contents.tsx';
import { Icon, STATE_LOOKS } from './icons.tsx';
import { Markdown } from './markdown.tsx';
import { Timeline } from './timeline.tsx';

/** What the user said, or that the turn goes on without a word. */
export function TurnHead({ turn, index }: { readonly turn: TurnView; readonly index: number }): VNode {
  const { input, mode, resumedAt } = turn;
  const text = inputText(input);
  const resumed = resumedAt.length > 1 ? `taken up again ${resumedAt.length} times` : 'taken up again';
  return (
    <div class="said">
      <h3 class="said-by">
        Turn {index + 1}
        {mode === '' ? null : <span class="chip">mode {mode}</span>}
        {resumedAt.length === 0 ? null : <span class="chip">{resumed}</span>}
      </h3>
      {text === '' ? <p class="note">Goes on with the turn before.</p> : <div class="prose prose-plain">{text}</div>}
    </div>
  );
}

/** What was said to a turn while it ran. */
export function Steered({ steered }: { readonly steered: SteeredInput }): VNode {
  return (
    <div class="said said-steered">
      <h3 class="said-by">Said while it worked</h3>
      <div class="prose prose-plain">{inputText(steered.input)}</div>
    </div>
  );
}

/** One step: what the model said, and the calls that it asked for. */
export function StepBody({
  step,
  parallel,
  isOver,
  now,
}: {
  readonly step: StepView;
  readonly parallel: number | undefined;
  /** Its turn has ended. */
  readonly isOver: boolean;
  readonly now: number;
}): VNode {
  const isOpen = step.endedAt === undefined && !isOver;
  return (
    <>
      <header class="step-head">
        <h3>Step {step.step}</h3>
        <span class="muted">{stepFigures(step, isOpen ? now : undefined)}</span>
      </header>
      {step.retries.length === 0 ? null : <Retries step={step} />}
      {step.reasoning === '' ? null : (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Clipped text={step.reasoning} label="Reasoning" />
        </details>
      )}
      {step.text === '' ? null : <Markdown text={step.text} />}
      {step.isPartial && isOpen ? (
        <p class="note">Some of the text did not come through; the end of the step brings it.</p>
      ) : null}
      {isOpen ? <UnderWay step={step} /> : null}
      <Timeline step={step} parallel={parallel} now={step.endedAt ?? now} />
    </>
  );
}

function stepFigures({ startedAt, endedAt, usage, finishReason }: StepView, now: number | undefined): string {
  const until = endedAt ?? now;
  const tokens =
    usage === undefined
      ? []
      : [
          `${tokensText(usage.inputTokens)} tokens in${usage.cachedInputTokens > 0 ? ` (${tokensText(usage.cachedInputTokens)} cached)` : ''}`,
          `${tokensText(usage.outputTokens)} out${usage.reasoningTokens > 0 ? ` (${tokensText(usage.reasoningTokens)} reasoning)` : ''}`,
        ];
  const odd = finishReason?.unified;
  const why = odd === undefined || odd === 'stop' || odd === 'tool-calls' ? [] : [`ended by ${odd}`];
  return [...(until === undefined ? [] : [durationText(until - startedAt)]), ...tokens, ...why].join(' · ');
}

function Retries({ step }: { readonly step: StepView }): VNode {
  const last = step.retries.at(-1);
  return (
    <p class="note note-warning">
      The model was asked {counted(step.retries.length + 1, 'time')}: {last?.reason}
    </p>
  );
}

/** What the model is doing at the moment. */
function UnderWay({ step }: { readonly step: StepView }): VNode | null {
  if (step.calls.length > 0) return null;
  const { writing, text, reasoning } = step;
  const doing =
    writing.length > 0
      ? writing
          .map(({ toolName, characters }) => `writes a call of ${toolName} (${countText(characters)} characters)`)
          .join(', ')
      : text === '' && reasoning === ''
        ? 'is asked'
        : 'answers';
  return (
    <p class="under-way">
      <span class="pulse" aria-hidden="true" />
      The model {doing}
    </p>
  );
}

/** How a turn ended, in a word and its figures. */
export function TurnEnd({ turn }: { readonly turn: TurnView }): VNode | null {
  const { end, state, usage, startedAt, endedAt = startedAt } = turn;
  if (end === undefined) return null;
  const figures = [
    ...[counted(turn.steps.length, 'step'), counted(turn.iterations, 'iteration'), counted(turn.calls, 'call')],
    ...[`${tokensText(usage.totalTokens)} tokens`, durationText(endedAt - startedAt)],
  ];
  const why = reasonOf(turn);
  return (
    <div class={`turn-end turn-${state}`}>
      <p class="turn-end-line">
        <span class="state">
          <Icon look={STATE_LOOKS[state] ?? 'done'} /> {TURN_WORDS[state]}
        </span>
        <span class="muted">{figures.join(' · ')}</span>
      </p>
      {why === undefined ? null : <p class="turn-end-why">{why}</p>}
      {end.output === undefined ? null : (
        <Clipped text={JSON.stringify(end.output, undefined, 2)} label="Typed answer" />
      )}
    </div>
  );
}

function reasonOf({ end }: TurnView): string | undefined {
  if (end === undefined) return undefined;
  const left =
    end.leftBehind.length === 0
      ? ''
      : ` Left running: ${end.leftBehind.map(({ toolName }) => toolName).join(', ')}; it may or may not have taken effect.`;
  if (end.error !== undefined) return `${end.error.message}${left}`;
  if (end.reason !== undefined) return `${end.reason}${left}`;
  if (end.limited !== undefined) return `It was told to answer since a limit was reached: ${end.limited.limit}.`;
  return left === '' ? undefined : left.trim();
}
