/** Which session is shown stands in the address, so that a reload and a link lead back to it. */

/** The address of a session within the studio. */
export function addressOf(sessionId: string): string {
  return `#/s/${encodeURIComponent(sessionId)}`;
}

/** The session in the address, if there is one. */
export function idInAddress(): string | undefined {
  const coded = /^#\/s\/([^/?]+)/.exec(location.hash)?.[1];
  try {
    return coded === undefined ? undefined : decodeURIComponent(coded);
  } catch {
    return undefined;
  }
}

/** What the tab is called: a session by what was said in it at first. */
export function titleOf(title: string | undefined): string {
  return title === undefined || title === '' ? 'looprig studio' : `${title} · looprig studio`;
}
