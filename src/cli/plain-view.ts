/**
 * The view without a terminal (or without colour): plain lines that only ever grow. Standard output gets the answer alone, so what the
 * model thinks, and says before it calls tools, is told on standard error. With `streamsText` text goes out as it comes, for a person who watches.
 */
import type { Clock, TurnEvent, TurnResult } from '../index.ts';
import { durationText } from '../report/model/format.ts';
import { type CompletedCall, callLabel, failureLabel, outcomeWord, resultLabel, toolLabel } from './call-text.ts';
import { finalGauges, SEPARATOR } from './gauges.ts';
import { noteOf, retryNote } from './notes.ts';
import { answerText } from './quiet-view.ts';
import { oneLine, SafeStream } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { TurnProgress } from './turn-progress.ts';
import type { RunEnd, RunHeader, View, ViewOutput } from './view.ts';

/** What a plain view needs to know of its surroundings. */
export interface PlainViewOptions {
  readonly output: ViewOutput;
  readonly secrets: SecretFilter;
  readonly clock: Clock;
  /** Whether text goes to standard output as it comes, and not as one answer at the end. */
  readonly streamsText: boolean;
  /** Whether what the model thinks is left out. */
  readonly hideReasoning: boolean;
  /** Whether the beginning of every result is told, and not only of one that is a failure. */
  readonly showsResults: boolean;
}

export class PlainView implements View {
  readonly #output: ViewOutput;
  readonly #secrets: SecretFilter;
  readonly #clock: Clock;
  readonly #streamsText: boolean;
  readonly #hideReasoning: boolean;
  readonly #showsResults: boolean;
  readonly #progress = new TurnProgress();
  readonly #stream: SafeStream;
  /** The text of the present step as it came, the line of reasoning that grows, and whether anything of the attempt can be seen. */
  #text = '';
  #thought = '';
  #hasShown = false;
  #tries = 1;
  /** Whether the line on standard output is unfinished, or the one of a question on standard error. */
  #isMidLine = false;
  #isAsking = false;
  /** The step whose calls were announced, and the one whose text was told as narration. */
  #calledStep = '';
  #narratedStep = '';
  /** The text of the last step, which is the answer if no other step follows. */
  #untold = '';

  constructor(options: PlainViewOptions) {
    this.#output = options.output;
    this.#secrets = options.secrets;
    this.#clock = options.clock;
    this.#streamsText = options.streamsText;
    this.#hideReasoning = options.hideReasoning;
    this.#showsResults = options.showsResults;
    this.#stream = new SafeStream(options.secrets);
  }

  start({ model, workspace, mode, prompt, tries, session }: RunHeader): void {
    this.#tries = tries;
    const facts = [
      ...(model === undefined ? [] : [`model: ${model}`]),
      ...(workspace === undefined ? [] : [`folder: ${workspace}`]),
      ...(mode === '' ? [] : [`mode: ${mode}`]),
      ...(session === undefined ? [] : [session]),
    ];
    if (facts.length > 0) this.#line(['looprig', ...facts].join(SEPARATOR));
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
      case 'reasoning.delta':
        this.#think(event.text);
        break;
      case 'step.started':
        this.#stepStarted();
        break;
      case 'step.retrying':
        this.#finishText();
        this.#line(retryNote(event, this.#tries, this.#hasShown));
        this.#hasShown = false;
        break;
      case 'step.done':
        this.#stepDone(event);
        break;
      default: {
        const note = noteOf(event);
        if (note !== undefined) this.#line(note);
        break;
      }
    }
  }

  notice(text: string): void {
    this.#line(text);
  }

  ask(lines: readonly string[], prompt: string): void {
    this.#endLine();
    for (const line of lines) this.#output.progress(`${line}\n`);
    this.#output.progress(prompt);
    this.#isAsking = true;
  }

  answered(): void {
    this.#isAsking = false;
  }

  end({ result, word, reason, next, gates }: RunEnd): void {
    const unfinished = this.#text === '' ? this.#untold : this.#text;
    this.#finishText();
    if (!this.#streamsText) this.#answer(result, unfinished);
    if (reason !== undefined) this.#line(`looprig: ${reason}`);
    const gauges = gates === undefined ? finalGauges(this.#progress, this.#clock.now()) : [];
    this.#line([word, ...gauges].join(SEPARATOR));
    if (next !== undefined) this.#line(`to go on: ${next}`);
  }

  abandon(): void {
    this.#finishText();
  }

  #completed(event: CompletedCall): void {
    const call = this.#progress.openCall(event.callId);
    const label = call === undefined ? '' : callLabel(call, this.#secrets);
    const ran = call?.startedAt === undefined ? '' : durationText(event.durationMs);
    const detail = [ran, outcomeWord(event)].filter(part => part !== '').join(', ');
    const why = this.#showsResults ? resultLabel(event, this.#secrets) : failureLabel(event, this.#secrets);
    const line = [event.isError ? '✗' : '✓', toolLabel(event.toolName, this.#secrets), label, detail && `(${detail})`];
    this.#line(`${line.filter(part => part !== '').join(' ')}${why === '' ? '' : `: ${why}`}`);
  }

  /** A half answer is none for whoever reads standard output, but it was paid for: it is told beside. */
  #answer(result: TurnResult | undefined, unfinished: string): void {
    if (result?.status === 'done') this.#output.answer(answerText(result.text, this.#secrets));
    else if (unfinished.trim() !== '') this.#line(`not finished: ${unfinished}`);
  }

  /** What the model thinks, a line at a time. */
  #think(piece: string): void {
    if (this.#hideReasoning) return;
    const lines = `${this.#thought}${piece}`.split('\n');
    this.#thought = lines.pop() ?? '';
    for (const line of lines) this.#thinkLine(line);
  }

  #thinkLine(line: string): void {
    if (line.trim() === '') return;
    this.#hasShown = true;
    this.#line(`thinking: ${line}`);
  }

  #finishThought(): void {
    const rest = this.#thought;
    this.#thought = '';
    this.#thinkLine(rest);
  }

  #add(piece: string): void {
    if (piece !== '') this.#finishThought();
    this.#text += piece;
    if (this.#streamsText) this.#show(this.#stream.push(piece));
  }

  /** The model goes on to call tools: what it said so far was not its answer. */
  #called(stepId: string): void {
    this.#calledStep = stepId;
    this.#narrate(stepId, this.#text);
    this.#finishText();
  }

  /** What the model said before it was asked once more was not its answer. */
  #stepStarted(): void {
    this.#hasShown = false;
    if (this.#untold.trim() !== '') this.#line(this.#untold);
    this.#untold = '';
  }

  /** Text that did not come piece by piece is whole here. */
  #stepDone({ stepId, text }: Extract<TurnEvent, { type: 'step.done' }>): void {
    this.#finishThought();
    if (this.#calledStep === stepId) this.#narrate(stepId, text);
    else if (this.#streamsText && text.startsWith(this.#text)) {
      this.#show(this.#stream.push(text.slice(this.#text.length)));
    } else if (!this.#streamsText) this.#untold = text;
    this.#finishText();
  }

  #narrate(stepId: string, text: string): void {
    if (text.trim() === '' || this.#narratedStep === stepId) return;
    this.#narratedStep = stepId;
    if (!this.#streamsText || this.#text === '') this.#line(text);
  }

  #show(text: string): void {
    if (text === '') return;
    this.#hasShown = true;
    this.#output.answer(text);
    this.#isMidLine = !text.endsWith('\n');
  }

  #finishText(): void {
    this.#finishThought();
    this.#text = '';
    this.#show(this.#stream.end());
    this.#endLine();
  }

  #endLine(): void {
    if (this.#isMidLine) this.#output.answer('\n');
    if (this.#isAsking) this.#output.progress('\n');
    this.#isMidLine = false;
    this.#isAsking = false;
  }

  #line(text: string): void {
    this.#endLine();
    this.#output.progress(`${oneLine(text, this.#secrets)}\n`);
  }
}
