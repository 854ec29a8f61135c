/** What stands round a turn in a terminal, as painted rows: what begins it, what it asks, and how it ended. */
import { SEPARATOR } from './gauges.ts';
import { packParts } from './rows.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { Look, Painter } from './style.ts';
import { wrapToWidth } from './text-width.ts';
import type { RunEnd, RunHeader } from './view.ts';

/** How much further in the second row of a line stands. */
const HANGING = '  ';

export class FrameRows {
  readonly #secrets: SecretFilter;
  readonly #paint: Painter;

  constructor(secrets: SecretFilter, paint: Painter) {
    this.#secrets = secrets;
    this.#paint = paint;
  }

  /** What is known before the turn begins; of the prompt at most `promptRows`. */
  head({ model, workspace, mode, prompt, session }: RunHeader, width: number, promptRows: number): readonly string[] {
    const facts = [
      ...(model === undefined ? [] : ['looprig', model]),
      ...(workspace === undefined ? [] : [workspace]),
      ...(mode === '' ? [] : [`mode ${mode}`]),
      ...(session === undefined ? [] : [session]),
    ];
    const first = facts.length === 0 ? [] : this.line(facts.join(SEPARATOR), 'dim', width);
    return [...first, ...this.line(`› ${prompt}`, 'bold', width).slice(0, promptRows)];
  }

  /** Lines of a question, which are safe to show: those that are not set in stand out. */
  question(lines: readonly string[], width: number): readonly string[] {
    return lines.flatMap(line => {
      const inset = /^ */.exec(line)?.[0] ?? '';
      const rows = wrapToWidth(line.slice(inset.length), Math.max(1, width - inset.length - HANGING.length));
      const look = inset === '' ? 'bold' : 'plain';
      return rows.map((row, index) => this.#paint(look, `${inset}${index === 0 ? '' : HANGING}${row}`));
    });
  }

  /** How the turn ended: why, in a word with what it used, and how to go on. */
  end({ exitStatus, word, reason, next }: RunEnd, gauges: readonly string[], width: number): readonly string[] {
    const [mark, look]: [string, Look] =
      exitStatus === 0 ? ['✓', 'green'] : exitStatus === 1 ? ['✗', 'red'] : ['■', 'yellow'];
    const [first = '', ...others] = packParts([`${mark} ${word}`, ...gauges], SEPARATOR, width);
    return [
      ...(reason === undefined ? [] : this.line(`looprig: ${reason}`, look, width)),
      this.#paint(look, first),
      ...others.map(row => this.#paint('dim', row)),
      ...(next === undefined ? [] : this.line(`to go on: ${next}`, 'dim', width)),
    ];
  }

  /** A text in as many rows as it takes. */
  line(text: string, look: Look, width: number): readonly string[] {
    return wrapToWidth(oneLine(text, this.#secrets), width).map(row => this.#paint(look, row));
  }
}
