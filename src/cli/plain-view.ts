/**
 * The view without a terminal (or without colour): plain lines that only ever grow. Standard output gets the answer alone, so what the
 * model says before it calls tools is told on standard error. With `streamsText` text goes out as it comes, for a person who watches.
 */
import type { Clock, TurnEvent } from '../index.ts';
import { type CompletedCall, callLabel, failureLabel, outcomeWord, toolLabel } from './call-text.ts';
import { showDuration } from './durations.ts';
import { finalGauges, SEPARATOR } from './gauges.ts';
import { answerText } from './quiet-view.ts';
import { oneLine, SafeStream } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { TurnProgress } from './turn-progress.ts';
import type { RunEnd, RunHeader, View, ViewOutput } from './view.ts';

export class PlainView implements View {
  readonly #output: ViewOutput;
  readonly #secrets: SecretFilter;
  readonly #clock: Clock;
  readonly #streamsText: boolean;
  readonly #progress = new TurnProgress();
  readonly #stream: SafeStream;
  /** The text of the present step as it came, and whether the line on standard output is unfinished. */
  #text = '';
  #isMidLine = false;
  /** The step whose calls were announced, and the one whose text was told as narration. */
  #calledStep = '';
  #narratedStep = '';

  constructor(output: ViewOutput, secrets: SecretFilter, clock: Clock, streamsText: boolean) {
    this.#output = output;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#streamsText = streamsText;
    this.#stream = new SafeStream(secrets);
  }

  start({ model, workspace, mode, prompt }: RunHeader): void {
    const where = workspace === undefined ? '' : ` · folder: ${workspace}`;
    this.#line(`looprig · model: ${model}${where}${mode === '' ? '' : ` · mode: ${mode}`}`);
    this.#line(`prompt: ${prompt}`);
  }

  event(event: TurnEvent): void {
    if (event.type === 'tool.completed') this.#completed(event);
    this.#progress.apply(event);
    switch (event.type) {
      case 'text.delta':
        this.#add(event.text);
        break;
      case 'tool.called':
        this.#called(event.stepId);
        break;
      case 'limit.near':
        this.#line(`limit near: ${event.used} of ${event.max} ${event.limit} used`);
        break;
      case 'step.retrying':
        this.#finishText();
        this.#line(`asking the model again in ${showDuration(event.delayMs)}: ${event.reason}`);
        break;
      case 'step.done':
        this.#stepDone(event);
        break;
      case 'tool.late':
        this.#line(`${event.toolName} settled after it was answered for; what it gave is dropped`);
        break;
      default:
        break;
    }
  }

  notice(text: string): void {
    this.#line(text);
  }

  end({ result, word, reason }: RunEnd): void {
    this.#finishText();
    if (result.status === 'done' && !this.#streamsText) {
      this.#output.answer(answerText(result.text, this.#secrets));
    }
    if (reason !== undefined) this.#line(`looprig: ${reason}`);
    this.#line([word, ...finalGauges(this.#progress, this.#clock.now())].join(SEPARATOR));
  }

  abandon(): void {
    this.#finishText();
  }

  #completed(event: CompletedCall): void {
    const call = this.#progress.openCall(event.callId);
    const label = call === undefined ? '' : callLabel(call, this.#secrets);
    const ran = call?.startedAt === undefined ? '' : showDuration(event.durationMs);
    const detail = [ran, outcomeWord(event)].filter(part => part !== '').join(', ');
    const why = failureLabel(event, this.#secrets);
    const line = [event.isError ? '✗' : '✓', toolLabel(event.toolName, this.#secrets), label, detail && `(${detail})`];
    this.#line(`${line.filter(part => part !== '').join(' ')}${why === '' ? '' : `: ${why}`}`);
  }

  #add(piece: string): void {
    this.#text += piece;
    if (this.#streamsText) this.#show(this.#stream.push(piece));
  }

  /** The model goes on to call tools: what it said so far was not its answer. */
  #called(stepId: string): void {
    this.#calledStep = stepId;
    this.#narrate(stepId, this.#text);
    this.#finishText();
  }

  /** Text that did not come piece by piece is whole here. */
  #stepDone({ stepId, text }: Extract<TurnEvent, { type: 'step.done' }>): void {
    if (this.#calledStep === stepId) this.#narrate(stepId, text);
    else if (this.#streamsText && text.startsWith(this.#text)) {
      this.#show(this.#stream.push(text.slice(this.#text.length)));
    }
    this.#finishText();
  }

  #narrate(stepId: string, text: string): void {
    if (text.trim() === '' || this.#narratedStep === stepId) return;
    this.#narratedStep = stepId;
    if (!this.#streamsText || this.#text === '') this.#line(text);
  }

  #show(text: string): void {
    if (text === '') return;
    this.#output.answer(text);
    this.#isMidLine = !text.endsWith('\n');
  }

  #finishText(): void {
    this.#text = '';
    this.#show(this.#stream.end());
    this.#endLine();
  }

  #endLine(): void {
    if (this.#isMidLine) this.#output.answer('\n');
    this.#isMidLine = false;
  }

  #line(text: string): void {
    this.#endLine();
    this.#output.progress(`${oneLine(text, this.#secrets)}\n`);
  }
}
