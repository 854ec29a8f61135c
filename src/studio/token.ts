/** The token of the server: it comes with the fragment of the address, and stays in this tab. */

const KEY = 'looprig.token';

/** The token, out of the address if it stands there; it is removed from it, so that nobody copies it with the address. */
export function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given !== null && given !== '') {
    keepToken(given);
    history.replaceState(null, '', `${location.pathname}${location.search}#/`);
    return given;
  }
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return kept; // storage is forbidden: for as long as the page is open
  }
}

let kept: string | undefined;

/** Keeps a token that was typed. */
export function keepToken(token: string): void {
  kept = token;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // it stays in `kept`
  }
}
