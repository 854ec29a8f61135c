/** Small words in what tools answer. */

/** `1 file`, `2 files`. Large counts with commas. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;
}

/** A path on a line of its own: quoted where it holds something that would break the line. */
export function shownPath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(path) ? JSON.stringify(path) : path;
}

/** How many lines a text has; a line without an end counts. */
export function countLines(text: string): number {
  if (text === '') return 0;
  let lines = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** A text on one line of at most `length` characters. */
export function oneLine(text: string, length: number): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > length ? `${flat.slice(0, length - 1)}…` : flat;
}
