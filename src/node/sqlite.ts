/** What is said where a runtime has no SQLite of its own. */
const MISSING =
  'this runtime has no node:sqlite: use Node 22.13 or later, a current Deno or Bun, or another store, such as that of looprig/postgres';

/**
 * Node's SQLite, loaded without the warning that some versions print: that it is used is our decision, not the user's. Throws where
 * there is none.
 */
export function sqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    const module: typeof import('node:sqlite') | undefined = process.getBuiltinModule?.('node:sqlite');
    if (module === undefined) throw new Error(MISSING);
    return module;
  } finally {
    process.emitWarning = emitWarning;
  }
}
