/** What `tell` does, but for what it throws: whoever is only told of something changes nothing by failing. */
export function quietly<Told extends readonly unknown[]>(tell: (...told: Told) => void): (...told: Told) => void {
  return (...told) => {
    try {
      tell(...told);
    } catch {
      // nobody is left who could be told
    }
  };
}
