/** What goes wrong with an engine itself. What goes wrong in a turn is the turn's outcome. */
import { LooprigError } from '../errors.ts';

/** Why an engine cannot do what was asked. */
export type EngineErrorKind =
  /** A package that the engine needs is not installed. */
  | 'missing_package'
  /** What it stands on (Restate, PostgreSQL) cannot be reached, or refuses. */
  | 'unavailable';

/** An engine cannot do what was asked. Whether a turn was started is then unknown: starting it again is safe. */
export class EngineError extends LooprigError<EngineErrorKind> {
  static {
    Object.defineProperty(EngineError.prototype, 'name', { value: 'EngineError', configurable: true });
    Object.defineProperty(EngineError.prototype, Symbol.for('looprig.error.EngineError'), { value: true });
  }
}

/** Imports a package that only those install who use the engine. `name` is as it is installed, with its version. */
export async function loadPackage<Package>(
  engine: string,
  name: string,
  bring: () => Promise<Package>,
): Promise<Package> {
  try {
    return await bring();
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `${engine} needs the package ${name.replace(/@\d+$/, '')}, which is not installed: npm install ${name}`;
    throw new EngineError('missing_package', message, { cause });
  }
}
