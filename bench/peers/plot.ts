/** Two plots, as SVG that needs nothing to be shown: lines over logarithmic axes, and bars over one. */

import { short } from '../statistics.ts';

export interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface Bar {
  readonly name: string;
  readonly value: number;
}

const WIDTH = 820;
const HEIGHT = 460;
const LEFT = 78;
const RIGHT = 130;
const TOP = 52;
const BOTTOM = 56;
const PALETTE = [
  '#0b6e4f',
  '#777777',
  '#c0392b',
  '#1f5fa8',
  '#b7791f',
  '#7d3c98',
  '#148f9f',
  '#d35400',
  '#6b4423',
  '#a61e6c',
];
/** The libraries of every plot have the same colour. */
const colours = new Map<string, string>();

function colourOf(name: string): string {
  const known = colours.get(name) ?? PALETTE[colours.size % PALETTE.length]!;
  colours.set(name, known);
  return known;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function text(x: number, y: number, words: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;
}

function frame(title: string, about: string, body: readonly string[], height = HEIGHT): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img"`,
    ` font-family="system-ui, sans-serif" font-size="12" fill="#222"><title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(LEFT, 22, title, 'font-size="15" font-weight="600"'),
    text(LEFT, 40, about, 'fill="#555"'),
    ...body,
    '</svg>\n',
  ].join('\n');
}

/** The powers of ten from the one below the least to the one above the most. */
function decades(values: readonly number[]): readonly number[] {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
}

/** Where a value stands between two powers of ten, from 0 to 1. */
function shareOf(value: number, marks: readonly number[]): number {
  const [from, to] = [Math.log10(marks[0]!), Math.log10(marks.at(-1)!)];
  return (Math.log10(value) - from) / (to - from);
}

/** Labels at the right end of their lines, moved apart where they would overlap. */
function labels(ends: readonly { readonly name: string; readonly y: number }[]): string[] {
  let last = Number.NEGATIVE_INFINITY;
  return ends
    .toSorted((a, b) => a.y - b.y)
    .map(({ name, y }) => {
      last = Math.max(y, last + 14);
      return text(WIDTH - RIGHT + 8, last + 4, name, `fill="${colourOf(name)}" font-weight="600"`);
    });
}

/** Cost against size, both on logarithmic axes. */
export function linePlot(title: string, about: string, xLabel: string, lines: readonly Line[]): string {
  const all = lines.flatMap(line => line.points);
  const xMarks = decades(all.map(point => point.x));
  const yMarks = decades(all.map(point => point.y));
  const xOf = (x: number): number => LEFT + shareOf(x, xMarks) * (WIDTH - LEFT - RIGHT);
  const yOf = (y: number): number => HEIGHT - BOTTOM - shareOf(y, yMarks) * (HEIGHT - TOP - BOTTOM);
  const grid = yMarks.flatMap(mark => [
    `<path d="M${LEFT} ${yOf(mark).toFixed(1)}H${WIDTH - RIGHT}" stroke="#ddd"/>`,
    text(LEFT - 8, yOf(mark) + 4, mark.toLocaleString('en-US'), 'text-anchor="end"'),
  ]);
  const below = xMarks.map(mark =>
    text(xOf(mark), HEIGHT - BOTTOM + 18, mark.toLocaleString('en-US'), 'text-anchor="middle"'),
  );
  const drawn = lines.flatMap(({ name, points }) => {
    const places = points.map(({ x, y }) => [xOf(x).toFixed(1), yOf(y).toFixed(1)] as const);
    const path = places.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('');
    const thick = name === 'looprig' ? 3 : 1.6;
    return [
      `<path d="${path}" fill="none" stroke="${colourOf(name)}" stroke-width="${thick}"/>`,
      ...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="${thick + 1}" fill="${colourOf(name)}"/>`),
    ];
  });
  const ends = lines.flatMap(({ name, points }) => points.slice(-1).map(({ y }) => ({ name, y: yOf(y) })));
  const axis = text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, xLabel, 'text-anchor="middle" fill="#555"');
  return frame(title, about, [...grid, ...below, ...drawn, ...labels(ends), axis]);
}

/** One bar a library, the least first, on a logarithmic axis. */
export function barPlot(title: string, about: string, bars: readonly Bar[]): string {
  const marks = decades(bars.map(bar => bar.value));
  const height = TOP + bars.length * 28 + BOTTOM - 10;
  const left = LEFT + 30;
  const xOf = (value: number): number => left + shareOf(value, marks) * (WIDTH - left - RIGHT);
  const foot = height - BOTTOM + 18;
  const grid = marks.flatMap(mark => [
    `<path d="M${xOf(mark).toFixed(1)} ${TOP}V${foot}" stroke="#ddd"/>`,
    text(xOf(mark), foot + 18, mark.toLocaleString('en-US'), 'text-anchor="middle"'),
  ]);
  const drawn = bars
    .toSorted((a, b) => a.value - b.value)
    .flatMap(({ name, value }, index) => {
      const y = TOP + 6 + index * 28;
      const wide = Math.max(2, xOf(value) - left).toFixed(1);
      return [
        text(left - 8, y + 15, name, 'text-anchor="end"'),
        `<rect x="${left}" y="${y}" width="${wide}" height="20" rx="2" fill="${colourOf(name)}"/>`,
        text(xOf(value) + 6, y + 15, short(value)),
      ];
    });
  return frame(title, about, [...grid, ...drawn], height);
}
