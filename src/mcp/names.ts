/**
 * Names that models may call a server's tools by. Providers take letters, digits, `_` and `-`, at most 64; servers name their tools as
 * they like. A name that fits stays as it is; one that was changed carries a piece of its own hash wherever it could be taken for another.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { problemWithToolName } from '../define/tool.ts';

const LONGEST = 64;
const HASH_LENGTH = 8;

/** The model-facing name of each of a server's tool names, which must differ from one another. Does not depend on their order. */
export function modelNames(names: readonly string[], prefix: string): ReadonlyMap<string, string> {
  const plain = new Map(names.map(name => [name, cleaned(prefix + name)]));
  const takers = new Map<string, string[]>();
  for (const [name, model] of plain) takers.set(model, [...(takers.get(model) ?? []), name]);
  return new Map(
    names.map(name => {
      const model = plain.get(name) ?? '';
      const isAlone = takers.get(model)?.length === 1;
      const isOwn = model === prefix + name; // of several, the one that was not changed keeps the name
      const fits = model.length <= LONGEST && isTakenByProviders(model) && (isAlone || isOwn);
      return [name, fits ? model : hashed(model, prefix + name)];
    }),
  );
}

function cleaned(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, '_');
}

/** Names that every object has are none for a tool: a provider's package may keep tools in an object. */
function isTakenByProviders(name: string): boolean {
  return problemWithToolName(name) === undefined && !(name in {});
}

function hashed(cleanName: string, name: string): string {
  // Halves of characters would all be one in UTF-8.
  const exact = name.isWellFormed() ? name : JSON.stringify(name);
  const hash = bytesToHex(sha256(utf8ToBytes(exact))).slice(0, HASH_LENGTH);
  return `${cleanName.slice(0, LONGEST - HASH_LENGTH - 1)}_${hash}`;
}
