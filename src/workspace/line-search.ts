/** Finding a literal text or a regular expression in lines, with a bound on the time that a pattern may take. */
import { createContext, Script } from 'node:vm';
import { reasonOf } from '../reason.ts';
import { codeOf } from './files.ts';

/** For each line the place of the first match, or -1. */
export type LineSearch = (lines: readonly string[]) => readonly number[];

/** The longest that one piece of a file may keep a pattern busy. Usual patterns need less than a thousandth of it. */
const PATTERN_MS = 1_000;

/** A search for a literal text. */
export function literalSearch(query: string, ignoreCase: boolean): LineSearch {
  if (!ignoreCase) return lines => lines.map(line => line.indexOf(query));
  const wanted = query.toLowerCase();
  return lines => lines.map(line => line.toLowerCase().indexOf(wanted));
}

/**
 * A search for a regular expression in JavaScript syntax. Throws for one that is malformed; the search throws for one that
 * backtracks without end, which no look at the pattern can tell beforehand.
 */
export function patternSearch(source: string, ignoreCase: boolean): LineSearch {
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, ignoreCase ? 'i' : '');
  } catch (error) {
    throw new Error(`the query is no regular expression: ${reasonOf(error)}`);
  }
  // A script is the one thing whose run can be ended from outside while a pattern keeps the thread busy.
  const sandbox: { pattern: RegExp; lines: readonly string[] } = { pattern, lines: [] };
  const context = createContext(sandbox);
  const script = new Script('lines.map(line => line.search(pattern))');
  return lines => {
    sandbox.lines = lines;
    try {
      return script.runInContext(context, { timeout: PATTERN_MS });
    } catch (error) {
      if (codeOf(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      throw new Error(
        'the regular expression takes too long: avoid repeats within repeats, such as (a+)+, or search for a literal text',
      );
    }
  };
}
