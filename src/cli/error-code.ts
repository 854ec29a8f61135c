import { reasonOf } from '../reason.ts';

/** What the system calls a failure, as `EACCES`: the one word of it that helps a person. */
export function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : reasonOf(cause);
}
