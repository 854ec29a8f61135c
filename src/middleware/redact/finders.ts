/** Where in a text secrets stand. */

/** Tells every stretch of `text` that is a secret: from `start` to before `end`. */
export type Finder = (text: string, found: (start: number, end: number) => void) => void;

/** A secret as it stands, as JSON writes it in a text, and as a URL does. */
export function valueFinder(value: string): Finder {
  const forms = new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed())]);
  return (text, found) => {
    for (const form of forms) {
      // From one place to the next, since a form may overlap itself.
      for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) found(at, at + form.length);
    }
  };
}

/** All that a pattern matches, or the group `secret` of it where there is one, whatever the flags `g` and `y` say. */
export function patternFinder({ source, flags }: RegExp): Finder {
  const hasGroup = source.includes('(?<secret>');
  const pattern = new RegExp(source, `${flags.replace(/[gyd]/g, '')}g${hasGroup ? 'd' : ''}`);
  return (text, found) => {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.groups?.secret ?? [match.index, match.index + match[0].length];
      if (end > start) found(start, end);
    }
  };
}

/** The values of members with these names, in JSON that stands in a text, where they are texts. */
export function memberFinder(names: readonly string[]): Finder {
  if (names.length === 0) return () => {};
  const written = names.map(name => [...plainName(name)].map(escaped).join(String.raw`[\s._-]?`));
  const opening = new RegExp(String.raw`"(?:${written.join('|')})"\s{0,16}:\s{0,16}"`, 'gi');
  return (text, found) => {
    for (const { index, 0: opened } of text.matchAll(opening)) {
      const start = index + opened.length;
      found(start, endOfString(text, start));
    }
  };
}

/** Private keys in PEM (RFC 7468): all between the line that opens one and the next run of hyphens, or the end of the text. */
export const pemFinder: Finder = (text, found) => {
  for (const { index, 0: opened } of text.matchAll(/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g)) {
    const start = index + opened.length;
    const end = text.indexOf('-----', start);
    found(start, end === -1 ? text.length : end);
  }
};

/** A name in the form in which names are compared. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s._-]/g, '');
}

function escaped(letter: string): string {
  return /[\p{L}\p{N}]/u.test(letter) ? letter : `\\${letter}`;
}

/** The place of the quote that closes a JSON string, or the end of a text that was cut off in it. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}
