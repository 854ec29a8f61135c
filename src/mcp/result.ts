/** What a server's tool gave, as a result for the model: each part once, in a form that models can be shown, or named in words. */
import { type ToolContent, type ToolResult, toolError, toolResult } from '../define/tool.ts';
import { isDeeperThan } from '../depth.ts';
import { isList } from '../show.ts';
import type { ListedTool } from './listing.ts';
import { oneLine, plainText } from './text.ts';

/** What of a result is beyond its content. */
export interface ResultRules {
  /** Media types, or beginnings of them, that are passed on as files. */
  readonly passMedia: readonly string[];
  readonly checkOutput: ListedTool['checkOutput'];
}

/** Images that all large providers take; any other would fail each request from then on. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Content that is larger, as JSON, is not compared. */
const LARGEST_COMPARED = 10_000_000;

/** Results may be nested no deeper, and what looks through an answer must not run out of stack. */
const DEEPEST = 500;

/** More parts than these are put together. */
const MANY_PARTS = 64;

/** The result of a call, from what the server answered. Never throws. */
export async function resultFrom(answer: unknown, rules: ResultRules): Promise<ToolResult> {
  if (typeof answer !== 'object' || answer === null || isList(answer)) {
    return toolError('the MCP server gave an answer that is no result of a tool; the call may have taken effect');
  }
  if (isDeeperThan(answer, DEEPEST)) {
    const what = `an answer that is nested more than ${DEEPEST} levels deep`;
    return toolError(`the MCP server gave ${what}; the call may have taken effect`);
  }
  const content: unknown = Reflect.get(answer, 'content');
  const structured: unknown = Reflect.get(answer, 'structuredContent');
  const isError = Reflect.get(answer, 'isError') === true;
  const given = isList(content) ? content : [];
  const isShown = structured !== undefined && !isToldBy(given, structured);
  const parts = given.filter(part => !isShown || !repeats(part, structured)).map(part => partFrom(part, rules));
  if (isShown) parts.push({ type: 'json', value: structured });
  if (!isError) parts.push(...(await notesAbout(structured, rules)));
  if (parts.every(part => part.type === 'text' && part.text.trim() === '')) {
    return toolResult(isError ? 'the tool failed, and did not say why' : '(the tool gave no content)', { isError });
  }
  return toolResult(fewer(parts), { isError });
}

/** What structured content comes to: itself, and what is in it where it is only wrapped in one member. */
function meanings(structured: unknown): readonly unknown[] {
  if (typeof structured !== 'object' || structured === null || isList(structured)) return [structured];
  const members: readonly unknown[] = Object.values(structured);
  return members.length === 1 ? [structured, members[0]] : [structured];
}

/** Whether the content says all of the structured content: a text that is only wrapped there, texts that are a list there, or the same parts. */
function isToldBy(content: readonly unknown[], structured: unknown): boolean {
  const texts = content.map(textOf);
  if (texts.length === 0 || canonical(content).length > LARGEST_COMPARED) return false;
  return meanings(structured).some(meaning => {
    if (typeof meaning === 'string') return meaning === texts.join('\n') || meaning === texts.join('');
    if (!isList(meaning)) return false;
    if (canonical(meaning) === canonical(content)) return true;
    return meaning.length > 1 && meaning.length === texts.length && meaning.every((item, at) => says(texts[at], item));
  });
}

/** Whether a part is nothing but the structured content as text, which servers add for clients that know no better. */
function repeats(part: unknown, structured: unknown): boolean {
  const text = textOf(part);
  return meanings(structured).some(meaning => typeof meaning !== 'string' && says(text, meaning));
}

/** Whether a text is a value, as it is or as JSON. */
function says(text: string | undefined, value: unknown): boolean {
  if (text === undefined || text === value) return text === value && text !== undefined;
  try {
    return canonical(JSON.parse(text)) === canonical(value);
  } catch {
    return false;
  }
}

function textOf(part: unknown): string | undefined {
  const text: unknown = Reflect.get(Object(part), 'text');
  return Reflect.get(Object(part), 'type') === 'text' && typeof text === 'string' ? text : undefined;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== 'object' || member === null || isList(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

async function notesAbout(structured: unknown, { checkOutput }: ResultRules): Promise<ToolContent[]> {
  if (checkOutput === undefined) return [];
  let problem: string | undefined;
  try {
    problem = structured === undefined ? 'it is missing' : await checkOutput(structured);
  } catch {
    return []; // what cannot be checked is given as it is
  }
  if (problem === undefined) return [];
  return [note(`the structured content is not what the tool promises: ${oneLine(problem, 500)}`)];
}

function partFrom(part: unknown, rules: ResultRules): ToolContent {
  const field = (name: string): unknown => Reflect.get(Object(part), name);
  const type = field('type');
  switch (type) {
    case 'text':
      return { type: 'text', text: plainText(stringOf(field('text'))) };
    case 'image':
    case 'audio':
      return media(type, field('data'), field('mimeType'), undefined, rules);
    case 'resource':
      return resource(field('resource'), rules);
    case 'resource_link':
      return { type: 'text', text: linkText(field) };
    default:
      return note(`a part of the unknown kind "${oneLine(stringOf(type), 60)}" is left out`);
  }
}

function resource(given: unknown, rules: ResultRules): ToolContent {
  const field = (name: string): unknown => Reflect.get(Object(given), name);
  const uri = oneLine(stringOf(field('uri')), 1_000);
  const text = field('text');
  if (typeof text === 'string') return { type: 'text', text: `Resource ${uri}:\n${plainText(text)}` };
  const mediaType = mediaTypeOf(field('mimeType'));
  const blob = field('blob');
  if (isText(mediaType) && isBase64(blob)) {
    const decoded = new TextDecoder().decode(Uint8Array.from(atob(blob), character => character.charCodeAt(0)));
    return { type: 'text', text: `Resource ${uri}:\n${plainText(decoded)}` };
  }
  return media('resource', blob, mediaType, uri, rules);
}

function linkText(field: (name: string) => unknown): string {
  const said = (name: string): string => oneLine(stringOf(field(name)), 1_000);
  const name = said('title') || said('name');
  const about = [said('mimeType'), typeof field('size') === 'number' ? `${String(field('size'))} bytes` : ''];
  const details = about.filter(detail => detail !== '').join(', ');
  const description = said('description');
  return [
    `Resource link: ${name === '' ? '' : `${name}, `}${said('uri')}`,
    details === '' ? '' : ` (${details})`,
    description === '' ? '' : `: ${description}`,
  ].join('');
}

function media(
  kind: string,
  data: unknown,
  givenType: unknown,
  uri: string | undefined,
  rules: ResultRules,
): ToolContent {
  const mediaType = mediaTypeOf(givenType);
  const what = `${kind}${uri === undefined || uri === '' ? '' : ` ${uri}`} of type ${mediaType}`;
  if (!isBase64(data)) return note(`${what} is left out: its data are no base64`);
  if (IMAGES.has(mediaType)) return { type: 'image', data, mediaType };
  if (mediaType === 'application/pdf' || rules.passMedia.some(start => mediaType.startsWith(start))) {
    return { type: 'file', data, mediaType, ...filenameOf(uri) };
  }
  return note(`${what}, ${Math.floor((data.length * 3) / 4)} bytes, is left out: it cannot be shown to a model`);
}

function filenameOf(uri: string | undefined): { readonly filename?: string } {
  const name = uri
    ?.split(/[?#]/)[0]
    ?.split('/')
    .at(-1)
    ?.replace(/[^\w.-]/g, '_')
    .slice(0, 100);
  return name === undefined || name === '' ? {} : { filename: name };
}

function mediaTypeOf(given: unknown): string {
  const [type = ''] = stringOf(given).toLowerCase().split(';');
  return /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/.test(type.trim()) ? type.trim() : 'application/octet-stream';
}

function isText(mediaType: string): boolean {
  return /^(?:text\/.*|image\/svg\+xml|application\/(?:.*\+)?(?:json|xml|yaml|javascript))$/.test(mediaType);
}

function isBase64(data: unknown): data is string {
  return typeof data === 'string' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** Texts that follow one another become one, where there are very many parts; what is then still too much is left out. */
function fewer(parts: readonly ToolContent[]): readonly ToolContent[] {
  if (parts.length <= MANY_PARTS) return parts;
  const joined: ToolContent[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) joined.push({ type: 'text', text: texts.join('\n') });
    texts = [];
  };
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text);
    else {
      flush();
      joined.push(part);
    }
  }
  flush();
  if (joined.length <= MANY_PARTS) return joined;
  return [...joined.slice(0, MANY_PARTS - 1), note(`${joined.length - MANY_PARTS + 1} more parts are left out`)];
}

function note(text: string): ToolContent {
  return { type: 'text', text: `[${text}]` };
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
