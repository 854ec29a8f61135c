/**
 * Records as text, and back without loss. The text is JSON. What JSON has no word for (bytes, a URL, a member that is `undefined`,
 * a number that is not finite, `-0`) stands as an object whose only key is the tag; an object that has such a key itself is escaped.
 *
 * Nearly all records are plain: they cost one look through them and `JSON.stringify`, and `JSON.parse` on the way back.
 */
import { base64 } from '../model/copy.ts';
import { isList } from '../show.ts';
import type { JournalRecord } from './journal.ts';
import type { Mail } from './mailbox.ts';

const TAG = '$looprig';

/** Deeper than any record; a circle ends here, and what was written can be read with any stack. */
const DEEPEST = 1_000;

/** Something that no record can hold. */
export class UnkeepableValue extends TypeError {}

/** The records of one append as text. Throws `UnkeepableValue` for what cannot come back as it was: a function, a symbol, a `Map`, a cycle. */
export function encodeRecords(records: readonly JournalRecord[]): string {
  return JSON.stringify(isPlain(records, 0) ? records : encode(records, 0));
}

/** The records of a text that `encodeRecords` made, frozen throughout. Throws for any other text. */
export function decodeRecords(text: string): JournalRecord[] {
  const parsed: unknown = JSON.parse(text);
  const value = text.includes(TAG) ? decode(parsed) : parsed;
  if (!Array.isArray(value)) throw new TypeError('the text holds no list of records');
  for (const record of value) freeze(record);
  return value;
}

/** A mail as text, as records are. Throws `UnkeepableValue`. */
export function encodeMail(mail: Mail): string {
  return JSON.stringify(isPlain(mail, 0) ? mail : encode(mail, 0));
}

/** The mail of a text that `encodeMail` made, frozen throughout. Throws for any other text. */
export function decodeMail(text: string): Mail {
  const parsed: unknown = JSON.parse(text);
  const mail = text.includes(TAG) ? decode(parsed) : parsed;
  if (typeof mail !== 'object' || mail === null || Array.isArray(mail)) throw new TypeError('the text holds no mail');
  freeze(mail);
  return mail as Mail;
}

/** Whether JSON carries the value as it is. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > DEEPEST) throw new UnkeepableValue(`it is nested deeper than ${DEEPEST} levels, or in a circle`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isPlain(value[index], depth + 1)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) {
    // `toJSON` is what JSON would call.
    if (key === TAG || key === 'toJSON' || !isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

function encode(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      return tagged('number', Object.is(value, -0) ? '-0' : String(value));
    case 'undefined':
      return tagged('undefined');
    case 'bigint':
      return tagged('bigint', String(value));
    case 'object':
      return value === null ? null : encodeObject(value, depth);
    default:
      throw new UnkeepableValue(`it holds a ${typeof value}`);
  }
}

function encodeObject(value: object, depth: number): unknown {
  if (depth > DEEPEST) throw new UnkeepableValue(`it is nested deeper than ${DEEPEST} levels, or in a circle`);
  if (isList(value)) return Array.from(value, item => encode(item, depth + 1));
  if (value instanceof Uint8Array) return tagged('bytes', base64(value));
  if (value instanceof URL) return tagged('url', value.href);
  // An object of a class is kept as its fields; a `Map` or a date has none that would say what it is.
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (kind !== 'Object') throw new UnkeepableValue(`it holds a ${kind}`);
  const entries = Object.entries(value).map(([key, member]) => [key, encode(member, depth + 1)] as const);
  if (Object.hasOwn(value, TAG) || typeof Reflect.get(value, 'toJSON') === 'function') return tagged('object', entries);
  return Object.fromEntries(entries);
}

type TagName = 'number' | 'undefined' | 'bigint' | 'bytes' | 'url' | 'object';

function tagged(name: TagName, content?: unknown): object {
  return { [TAG]: content === undefined ? [name] : [name, content] };
}

function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(decode);
  if (Object.hasOwn(value, TAG)) return decodeTagged(Reflect.get(value, TAG));
  // `fromEntries` defines its fields, so that a key such as `__proto__` stays data.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, decode(member)]));
}

function decodeTagged(tag: unknown): unknown {
  const [name, content] = Array.isArray(tag) ? tag : [];
  switch (name as TagName) {
    case 'number':
      return Number(content);
    case 'undefined':
      return undefined;
    case 'bigint':
      return BigInt(content);
    case 'bytes':
      return fromBase64(String(content));
    case 'url':
      return new URL(String(content));
    case 'object':
      return Object.fromEntries(
        (content as [string, unknown][]).map(([key, member]) => [key, decode(member)] as const),
      );
    default:
      throw new TypeError('the text holds a tag that is not known');
  }
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Freezes what was decoded: a tree, which nobody has seen yet. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value)) for (const item of value) freeze(item);
  else for (const key of Object.keys(value)) freeze((value as Record<string, unknown>)[key]);
  Object.freeze(value);
}
