import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SecretFilter } from '../secrets.ts';
import { InputHistory } from './input-history.ts';
import { LineEditor } from './line-editor.ts';

const UP = '\u001b[A';
const DOWN = '\u001b[B';
const ALT_ENTER = '\u001b\r';
const BACKSPACE = '\u007f';
const TO_BEGINNING = '\u0001';
const WORD_BACK = '\u0017';

let input: PassThrough;
let editor: LineEditor;
let heard: string[];

beforeEach(async () => {
  input = new PassThrough();
  heard = [];
  const history = await InputHistory.open(undefined, new SecretFilter({}));
  history.add('first');
  history.add('second\nof two');
  editor = new LineEditor({
    ...{ input, history, complete: line => ['/mode ', '/more '].filter(word => word.startsWith(line)) },
    listener: {
      entered: text => heard.push(text),
      pressed: () => {},
      changed: () => {},
      cleared: () => heard.push('Ctrl-L'),
      interrupted: () => heard.push('Ctrl-C'),
      ended: () => heard.push('end'),
      cameBack: () => {},
    },
  });
});

afterEach(() => editor.close());

/** Presses keys, and gives what stands in the line then. */
async function press(...keys: readonly string[]): Promise<readonly string[]> {
  for (const key of keys) {
    input.write(key);
    await new Promise(resolve => setImmediate(resolve));
  }
  return editor.typed.lines;
}

it('words are edited as in any shell, and Enter gives the text', async () => {
  expect(await press('one two', WORD_BACK, 'three')).toEqual(['one three']);
  expect(await press('\r')).toEqual(['']);
  expect(heard).toEqual(['one three']);
  expect(editor.isEmpty).toBe(true);
});

it('a text of several lines is recalled as one, and what was begun comes back', async () => {
  expect(await press('begun', UP)).toEqual(['second', 'of two']);
  expect(await press(UP)).toEqual(['first']);
  expect(await press(DOWN, DOWN)).toEqual(['begun']);
  await press(UP, '\r');
  expect(heard).toEqual(['second\nof two']);
});

it('a line that ends in a backslash goes on, one that ends in two does not', async () => {
  await press('one\\', '\r', 'two', '\r', 'three\\\\', '\r');
  expect(heard).toEqual(['one\ntwo', 'three\\\\']);
});

it('pasted line ends send nothing, and a pasted tab completes nothing', async () => {
  expect(await press('\u001b[200~/mo\tx\r\ny\u001b[201~')).toEqual(['/mo\tx', 'y']);
  expect(heard).toEqual([]);
  await press('\r');
  expect(heard).toEqual(['/mo\tx\ny']);
});

it('Alt-Enter breaks the line at the cursor, and backspace joins it again', async () => {
  expect(await press('ab', '\u001b[D', ALT_ENTER)).toEqual(['a', 'b']);
  expect(await press(TO_BEGINNING, BACKSPACE)).toEqual(['ab']);
  expect(editor.typed.cursor).toBe(1);
});

it('the tab key tells what there is, until the next key', async () => {
  expect(await press('/m', '\t')).toEqual(['/mo']);
  expect(editor.choices).toEqual(['/mode ', '/more ']);
  expect(await press('d', '\t')).toEqual(['/mode ']);
  expect(editor.choices).toEqual([]);
});

it('Ctrl-C is told and changes nothing; Ctrl-D ends the input, after which nothing is edited', async () => {
  expect(await press('x', '\u0003')).toEqual(['x']);
  await press(BACKSPACE, '\u0004');
  editor.replace('late');
  expect(heard).toEqual(['Ctrl-C', 'end']);
  expect(editor.isEmpty).toBe(true);
});

it('whoever closes it is not told of the end', () => {
  editor.close();
  expect(heard).toEqual([]);
});
