/** Text from a server: as it may be shown, and as much of it as is worth it. */

const ESCAPE = '\\u001b';
/** Terminal sequences: with parameters, titles and links, and the short ones. */
const SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^\\u0007\\u001b]*(?:\\u0007|${ESCAPE}\\\\)?|${ESCAPE}[ -/]*[0-~]`,
  'g',
);
const CONTROLS = /[\p{Cc}]/gu;

/** The text without terminal sequences, control characters and lone surrogates. Tabs and line ends stay. */
export function plainText(text: string): string {
  const bare = text.includes('\u001b') ? text.replace(SEQUENCES, '') : text;
  return bare.replace(CONTROLS, character => (/[\t\n\r]/.test(character) ? character : '')).toWellFormed();
}

/** The text in one line of at most `longest` characters. */
export function oneLine(text: string, longest: number): string {
  const line = plainText(text.slice(0, longest * 4))
    .replace(/\s+/gu, ' ')
    .trim();
  return cutTo(line, longest);
}

/** The beginning of a text, with a mark where it was cut. */
export function cutTo(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`;
}
