/** What is drawn for several properties: texts, JSON, and what is left of either when something has gone over it. */
import fc from 'fast-check';

/** Names and values that have done harm somewhere. */
const WORDS = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', 'hasOwnProperty', 'length', 'then'],
  ...['polluted', '$looprig', '$ref', '$schema', 'type', 'text', 'undefined', 'null', 'NaN', '0', '-0', '1e999', ''],
  ...[
    '%',
    '%zz',
    '%00',
    '~0',
    '~1',
    '/',
    '\\',
    '..',
    '.',
    '*',
    '**',
    '\u0000',
    '\u001b[2J',
    '\u202e',
    '\ud83d',
    '\ude42',
  ],
  ...['<script>', '</style>', '&amp;', '"', "'", '\n', '\r\n', '\u2028', '🙂', 'e\u0301', '\ufeff'],
];

/** Any text: of units of any kind, and of words that mean something to somebody. */
export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)),
      { maxLength: 12 },
    )
    .map(joined),
  fc.constantFrom(...WORDS),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map(joined),
);

function joined(parts: readonly string[]): string {
  return parts.join('');
}

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -1, 1e308, 5e-324, 2 ** 53, 2 ** 31, 1_000_000_007),
);

/** Any value that JSON has. Keys such as `__proto__` are own members, as `JSON.parse` makes them. */
export const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(texts, numbers, fc.constantFrom(null, true, false)),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(texts, tie('json')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
  ),
}));

/** A value in so many lists or objects that whatever goes down into it by calling itself does not come back. Drawn as what makes it, since it cannot be printed. */
export interface Deep {
  readonly levels: number;
  readonly inLists: boolean;
  readonly core: unknown;
}

export const deep: fc.Arbitrary<Deep> = fc.record({
  levels: fc.constantFrom(60, 200, 3_000, 20_000),
  inLists: fc.boolean(),
  core: json,
});

/** What it describes. */
export function deepValue({ levels, inLists, core }: Deep): unknown {
  let value = core;
  for (let level = 0; level < levels; level++) value = inLists ? [value] : { a: value };
  return value;
}

/** JSON as text, also of what is too deep to be written by calling oneself. */
export const deepTexts: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(60, 1_500, 20_000, 100_000), fc.constantFrom('[]', '{}'))
  .map(([levels, pair]) =>
    pair === '[]' ? `${'['.repeat(levels)}${']'.repeat(levels)}` : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
  );

/** What costs much, one time in ten. */
export function rarely(costly: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 9, arbitrary: texts }, { weight: 1, arbitrary: costly });
}

interface Damage {
  readonly at: number;
  readonly kind: 'flip' | 'cut' | 'drop' | 'twice' | 'put';
  readonly length: number;
  readonly put: string;
}

const damages = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom<Damage['kind']>('flip', 'cut', 'drop', 'twice', 'put', 'put'),
    length: fc.integer({ min: 1, max: 20 }),
    put: fc.oneof(texts, fc.constantFrom('null', '{', '}', '[', ']', ',', '"', '1e999', '{"$looprig":["undefined"]}')),
  }),
  { minLength: 1, maxLength: 3 },
);

/** A text to which something has happened. */
export function damaged(sound: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(sound, damages).map(([text, all]) => all.reduce(damage, text));
}

function damage(text: string, { at, kind, length, put }: Damage): string {
  const place = Math.floor(at * text.length);
  const [before, after] = [text.slice(0, place), text.slice(place)];
  switch (kind) {
    case 'flip':
      return `${before}${String.fromCharCode(after.charCodeAt(0) ^ (1 << (length % 7)))}${after.slice(1)}`;
    case 'cut':
      return before;
    case 'drop':
      return before + after.slice(length);
    case 'twice':
      return before + after.slice(0, length) + after;
    case 'put':
      return before + put + after;
  }
}

/** A JSON value in which one place (at any depth) was replaced, or is gone. */
export function altered(sound: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.record({ path: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }), by: fc.option(json) });
  return fc.tuple(sound, fc.array(change, { minLength: 1, maxLength: 2 })).map(([value, changes]) => {
    return changes.reduce<unknown>((so, { path, by }) => alteredAt(so, path, by), value);
  });
}

/** `null` in place of what is put there is as good as any other value; an absent member is `undefined`. */
function alteredAt(value: unknown, path: readonly number[], by: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined || typeof value !== 'object' || value === null) return by ?? undefined;
  if (Array.isArray(value)) {
    if (value.length === 0) return [by];
    const place = first % value.length;
    const changed = alteredAt(value[place], rest, by);
    return changed === undefined ? value.toSpliced(place, 1) : value.with(place, changed);
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return by ?? undefined;
  const key = keys[first % keys.length]!;
  const changed = alteredAt(Reflect.get(value, key), rest, by);
  const entries = Object.entries(value).flatMap(([name, member]) => {
    if (name !== key) return [[name, member] as const];
    return changed === undefined ? [] : [[name, changed] as const];
  });
  return Object.fromEntries(entries);
}
