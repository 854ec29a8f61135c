/** Patterns for the targets of access requests. */

const STAR = '*';
const TWO_STARS = '**';

/**
 * Whether targets fit a pattern: `*` stands for anything but `/`, `**` for anything, the rest for itself. A model may choose the target, so
 * the time is bounded by the product of the two lengths, whatever they hold.
 */
export function targetMatcher(pattern: string): (target: string) => boolean {
  const tokens: readonly string[] = pattern.match(/\*\*|[\s\S]/g) ?? [];
  if (!tokens.some(isStar)) return target => target === pattern;
  return target => {
    // The places in the pattern to which the target so far may lead.
    const places = new Uint8Array(tokens.length + 1);
    places[0] = 1;
    passStars(tokens, places);
    for (let index = 0; index < target.length; index++) step(tokens, places, target.charAt(index));
    return places[tokens.length] === 1;
  };
}

/** Goes on to the places to which one more character leads; from the end, so that each place is read before it is written. */
function step(tokens: readonly string[], places: Uint8Array, character: string): void {
  for (let place = tokens.length; place >= 0; place--) {
    const token = tokens[place];
    const stays = places[place] === 1 && (token === TWO_STARS || (token === STAR && character !== '/'));
    const before = place > 0 && places[place - 1] === 1 ? tokens[place - 1] : undefined;
    places[place] = stays || (before === character && before !== STAR) ? 1 : 0;
  }
  passStars(tokens, places);
}

/** A star may stand for nothing. */
function passStars(tokens: readonly string[], places: Uint8Array): void {
  for (let place = 0; place < tokens.length; place++) {
    if (places[place] === 1 && isStar(tokens[place])) places[place + 1] = 1;
  }
}

function isStar(token: string | undefined): boolean {
  return token === STAR || token === TWO_STARS;
}
