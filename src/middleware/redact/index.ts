/** `looprig/middleware/redact`: takes secrets out of what a call gives. */
import type { ToolMiddleware } from '../../define/middleware.ts';
import { isToolResult, type ToolContent, type ToolResult, toolResult } from '../../define/tool.ts';
import { type Changes, copyJson, TooLarge } from '../json.ts';
import { Options } from '../options.ts';
import { memberFinder, patternFinder, pemFinder, plainName, valueFinder } from './finders.ts';
import { redactor } from './redactor.ts';
import { WELL_KNOWN_NAMES, WELL_KNOWN_PATTERNS } from './well-known.ts';

/** What counts as a secret, and what stands in its place. */
export interface RedactOptions {
  /**
   * Secrets that you know: each is taken out wherever it stands, as it is, as JSON writes it and as a URL does. At least 4 characters each.
   * Default none.
   */
  readonly values?: readonly string[];
  /**
   * What secrets look like. Of a match, the group named `secret` is taken out if the pattern has one, else all of it. All matches are found,
   * whatever the flags `g` and `y` say. A pattern must not take more than linear time. Default none beside the well-known ones.
   */
  readonly patterns?: readonly RegExp[];
  /**
   * Names of members of JSON objects whose values are secrets, in JSON results and, for texts, in JSON that stands in a text. Case, spaces,
   * dots, hyphens and underscores do not matter. Default none beside the well-known ones.
   */
  readonly names?: readonly string[];
  /**
   * Whether the keys and tokens of well-known services, private keys, credentials of HTTP and in URLs, and members such as `password`,
   * `token` and `api_key` are taken out too. Default true.
   */
  readonly wellKnown?: boolean;
  /** What stands in the place of a secret. Default `[redacted]`. */
  readonly replace?: string;
}

const KNOWN = ['values', 'patterns', 'names', 'wellKnown', 'replace'] as const;

/** A shorter value stands in too many texts by chance. */
const SHORTEST_VALUE = 4;

/**
 * Takes secrets out of results (texts, JSON with its keys, names of files) and out of the messages of what is thrown, before the model, the
 * journal and events see them. List it first, so that it sees what all the others give. It does not see arguments, which the model wrote,
 * nor `progress`, nor what is inside of images and files. What it cannot look through becomes an error result.
 * Throws `DefinitionError` `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { redact } from 'looprig/middleware/redact';
 * import { scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * const settings = scriptedTool('settings', {
 *   returns: { host: 'db.example.org', password: 'hunter2', note: 'ask Ada, badge 4711-A' },
 * });
 * const model = scriptedModel([{ calls: [{ tool: 'settings' }] }, { text: 'Done.' }]);
 * const operator = defineLoop({
 *   name: 'operator',
 *   model,
 *   tools: [settings.definition],
 *   middlewares: [redact({ patterns: [/badge (?<secret>\d+-[A-Z])/] })],
 * });
 * await using session = await defineRig({ loops: [operator] }).open();
 * await session.run('Which settings are there?');
 * const [told] = model.requests.at(-1)?.prompt.findLast(message => message.role === 'tool')?.content ?? [];
 * if (told?.type === 'tool-result' && told.output.type === 'json') {
 *   console.log(JSON.stringify(told.output.value)); // {"host":"db.example.org","password":"[redacted]","note":"ask Ada, badge [redacted]"}
 * }
 * ```
 */
export function redact(options: RedactOptions = {}): ToolMiddleware {
  const changes = resolveChanges(options);
  return async (_, next) => {
    let result: ToolResult;
    try {
      result = await next();
    } catch (error) {
      throw redactedError(error, changes);
    }
    try {
      return redactedResult(result, changes);
    } catch (error) {
      const why = error instanceof TooLarge ? error.message : 'reading it failed';
      return toolResult(`the tool ran, but its result could not be searched for secrets: ${why}`, { isError: true });
    }
  };
}

function resolveChanges(options: RedactOptions): Changes {
  const given = new Options('redact', options, KNOWN);
  const wellKnown = given.flag('wellKnown', true);
  const replace = given.text('replace', '[redacted]');
  const values = given.list('values', `a text of at least ${SHORTEST_VALUE} characters`, isValue, { isSecret: true });
  const patterns = given.list('patterns', 'a regular expression that matches at least one character', isPattern);
  const names = [
    ...(wellKnown ? WELL_KNOWN_NAMES : []),
    ...(given.list('names', 'the name of a member', isName) ?? []),
  ];
  const finders = [
    ...(values ?? []).map(valueFinder),
    ...(patterns ?? []).map(patternFinder),
    ...(wellKnown ? [...WELL_KNOWN_PATTERNS.map(patternFinder), pemFinder] : []),
    memberFinder(names),
  ];
  const secretNames = new Set(names.map(plainName));
  const isSecret = (key: string, value: unknown): boolean => secretNames.has(plainName(key)) && saysSomething(value);
  return {
    text: redactor(finders, replace),
    member: (key, value) => (isSecret(key, value) ? replace : undefined),
  };
}

function isValue(value: unknown): value is string {
  return typeof value === 'string' && value.length >= SHORTEST_VALUE && value.trim() !== '';
}

function isPattern(value: unknown): value is RegExp {
  return value instanceof RegExp && !new RegExp(value.source, value.flags.replace(/[gy]/g, '')).test('');
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && plainName(value) !== '';
}

/** That a password is missing, or whether there is one, is no secret. */
function saysSomething(value: unknown): boolean {
  return !(value === undefined || value === null || value === '' || typeof value === 'boolean');
}

function redactedResult(result: unknown, changes: Changes): ToolResult {
  if (isToolResult(result))
    return toolResult(
      result.content.map(part => redactedPart(part, changes)),
      result,
    );
  // A middleware further in gave what is none. It is taken as what a tool returns.
  if (result === undefined || result === null) return toolResult([]);
  if (typeof result === 'string') return toolResult(changes.text(result));
  if (result instanceof Error) return toolResult(changes.text(messageOf(result)), { isError: true });
  return toolResult([{ type: 'json', value: copyJson(result, changes).value }]);
}

function redactedPart(part: ToolContent, changes: Changes): ToolContent {
  const clean = (text: string): string => (typeof text === 'string' ? changes.text(text) : text);
  switch (part.type) {
    case 'text':
      return { type: 'text', text: clean(part.text) };
    case 'json':
      return { type: 'json', value: copyJson(part.value, changes).value };
    case 'image':
      return { ...part, mediaType: clean(part.mediaType) };
    case 'file': {
      const name = part.filename === undefined ? {} : { filename: clean(part.filename) };
      return { ...part, mediaType: clean(part.mediaType), ...name };
    }
    default:
      return part;
  }
}

/** The error itself where its message holds no secret; else another with its name and without its cause, which would tell. */
function redactedError(thrown: unknown, changes: Changes): unknown {
  try {
    // The loop takes control characters out of messages, and a secret must not become whole by that.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    const message = messageOf(thrown).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
    const clean = changes.text(message);
    if (clean === message) return thrown;
    const error = new Error(clean);
    if (thrown instanceof Error) error.name = changes.text(String(thrown.name));
    return error;
  } catch {
    return new Error('it failed with an error that cannot be read');
  }
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const message: unknown = typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, 'message') : undefined;
  return typeof message === 'string' ? message : '';
}
