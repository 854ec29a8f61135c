/** What goes wrong with an engine itself. What goes wrong in a turn is the turn's outcome. */
import { brandClass, LooprigError } from '../looprig-error.ts';

/** Why an engine cannot do what was asked. */
export type EngineErrorKind =
  /** A package that the engine needs is not installed. */
  | 'missing_package'
  /** What it stands on (Restate, PostgreSQL) cannot be reached, or refuses. */
  | 'unavailable'
  /** A worker cannot listen on its address: it is in use, or not this machine's. */
  | 'not_listening';

/** An engine cannot do what was asked. Whether a turn was started is then unknown: starting it again is safe. */
export class EngineError extends LooprigError<EngineErrorKind> {
  static {
    brandClass(EngineError.prototype, 'EngineError');
  }
}

/** A package that the engine needs is not installed. */
export function missingPackage(message: string, options: { readonly cause: unknown }): EngineError {
  return new EngineError('missing_package', message, options);
}
