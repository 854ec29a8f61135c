/** What goes wrong with a server before it serves. What goes wrong with a request is an answer to it. */
import { brandClass, LooprigError } from '../looprig-error.ts';

/** Why a server does not start. */
export type ServerErrorKind =
  /** `hono` or `@hono/node-server` is not installed. */
  | 'missing_package'
  /** An option cannot be taken, or a token is missing where one is needed. */
  | 'invalid_option'
  /** The address cannot be listened on: it is in use, or not this machine's. */
  | 'not_listening';

/** A server cannot be made or started. The message says why, and what would be right; it never holds the token. */
export class ServerError extends LooprigError<ServerErrorKind> {
  static {
    brandClass(ServerError.prototype, 'ServerError');
  }
}
