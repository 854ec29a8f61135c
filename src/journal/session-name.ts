/** Session ids as databases can keep them: any string, and no two of them as one. */

/** An id of ordinary characters as it is; one with half a surrogate pair or a NUL as JSON, which begins with a quote. */
export function nameOf(sessionId: string): string {
  const isOrdinary = sessionId.isWellFormed() && !sessionId.includes('\0') && !sessionId.startsWith('"');
  return isOrdinary ? sessionId : JSON.stringify(sessionId);
}

/** The id that has this name. */
export function sessionOf(name: string): string {
  return name.startsWith('"') ? JSON.parse(name) : name;
}
