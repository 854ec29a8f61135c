/** Names like the one that a model made up: for an error that it can learn from. */

/** The most names that are listed. */
const MOST = 5;

/** The names most like `name`, the nearest first, at most five; any five where none is like it. */
export function nearNames(name: string, names: readonly string[]): readonly string[] {
  const pairs = letterPairs(name);
  const scored = names.map(candidate => ({ candidate, likeness: likeness(pairs, letterPairs(candidate)) }));
  scored.sort((a, b) => b.likeness - a.likeness);
  const like = scored.filter(({ likeness }) => likeness > 0.2);
  return (like.length > 0 ? like : scored).slice(0, MOST).map(({ candidate }) => candidate);
}

/** Twice the pairs in common over all pairs: 1 for equal names, 0 for names that share none. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common += 1;
  return a.size + b.size === 0 ? 0 : (2 * common) / (a.size + b.size);
}

function letterPairs(name: string): ReadonlySet<string> {
  const letters = name
    .slice(0, 128)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
  const pairs = new Set<string>();
  for (let index = 0; index < letters.length - 1; index++) pairs.add(letters.slice(index, index + 2));
  return pairs;
}
