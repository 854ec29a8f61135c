/** How deep a value from outside is nested: found out level by level, since whatever goes down by calling itself would run out of stack. */

/** Whether lists and objects are nested in it more than so many levels. It must be a tree, as what is parsed from JSON is. */
export function isDeeperThan(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const member of Object.values(item)) if (typeof member === 'object' && member !== null) next.push(member);
    }
    level = next;
  }
  return false;
}
