/** Medians with their spread, and how they are written. */

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly count: number;
}

/** The spread of measured values; `undefined` of none. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return undefined;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, least, most, count: sorted.length };
}

/** The median; `NaN` of no values. */
export function medianOf(values: readonly number[]): number {
  return spreadOf(values)?.median ?? Number.NaN;
}

/** Three figures that mean something, and no more. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  if (size >= 10) return value.toFixed(1);
  return size === 0 ? '0' : value.toFixed(size >= 1 ? 2 : 3);
}

/** `12.3 (11.0 to 15.2)`, or the one figure of one round. */
export const told = ({ median, least, most, count }: Spread): string =>
  count === 1 ? short(median) : `${short(median)} (${short(least)} to ${short(most)})`;
