/** Text from outside, wherever it is shown: on a terminal, in a report, to a model. */
import fc from 'fast-check';
import type { SessionEvent } from 'looprig';
import { reportHtml, viewOf } from 'looprig/report';
import { expect } from 'vitest';
import { neutralise, oneLine, SafeStream } from '../../src/cli/safe-text.ts';
import { SecretFilter } from '../../src/cli/secrets.ts';
import { oneLine as mcpLine, plainText } from '../../src/mcp/text.ts';
import { sampleSession } from '../report/sample-session.ts';
import { texts } from './drawn.ts';
import { fuzz } from './fuzz.ts';

const hostile = fc
  .array(fc.oneof(texts, fc.constantFrom('\u001b]8;;', '\u001b[31m', '\u009b', '\u0007', '\r', '\u2069')), {
    maxLength: 8,
  })
  .map(parts => parts.join(''));

/** What a terminal may obey, written apart from the code: every category of control and of direction, but line feed and tab. */
function requireHarmlessOnTerminals(text: string): void {
  expect(text.replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}|[\u2028-\u202e\u2066-\u2069]/u);
  expect(text.isWellFormed()).toBe(true);
}

const SECRETS = ['sk-canary-0123456789', 'sk-canary-01234567890', 'another-canary-42'];
const filter = new SecretFilter({});
filter.learn(SECRETS);

fuzz('no text drives a terminal', { runs: 2_000, input: hostile }, text => {
  requireHarmlessOnTerminals(neutralise(text));
  requireHarmlessOnTerminals(oneLine(text, filter));
  expect(oneLine(text, filter)).not.toContain('\n');
});

const withSecrets = fc
  .array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(...SECRETS) },
      hostile,
      fc.constantFrom('sk-', 'sk-canary', 'another-canary-4', 'a'),
    ),
    { maxLength: 6 },
  )
  .map(parts => parts.join(''));
const inPieces = withSecrets.chain(text => {
  return fc.array(fc.nat(Math.max(text.length, 1)), { maxLength: 6 }).map(places => {
    const cuts = [0, ...places.sort((a, b) => a - b), text.length];
    return cuts.slice(1).map((end, index) => text.slice(cuts[index], end));
  });
});

fuzz(
  'what comes in pieces is shown as what comes at once, and holds no secret',
  { runs: 2_000, input: inPieces },
  pieces => {
    const stream = new SafeStream(filter);
    const shown = pieces.map(piece => stream.push(piece)).join('') + stream.end();
    requireHarmlessOnTerminals(shown);
    for (const secret of SECRETS) expect(shown).not.toContain(secret);
    expect(shown).toBe(neutralise(filter.clean(pieces.join(''))));
  },
);

fuzz('text of an MCP server has no sequences and no control characters left', { runs: 2_000, input: hostile }, text => {
  expect(plainText(text).replace(/[\t\n\r]/g, '')).not.toMatch(/\p{Cc}/u);
  expect(plainText(text).isWellFormed()).toBe(true);
  expect(mcpLine(text, 40)).not.toMatch(/\p{Cc}/u);
  expect(mcpLine(text, 40).length).toBeLessThanOrEqual(40);
});

const { events } = await sampleSession();

/** What says what is what; all other text of an event is somebody's. */
const MEANING = new Set([
  'type',
  'role',
  'sessionId',
  'turnId',
  'stepId',
  'callId',
  'gateId',
  'outcome',
  'decision',
  'limit',
  'kind',
  'unified',
]);

/** A session in which all that somebody said is this text. */
function saying(value: unknown, text: string): unknown {
  if (typeof value === 'string') return text;
  if (Array.isArray(value)) return value.map(member => saying(member, text));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, MEANING.has(key) ? member : saying(member, text)]),
  );
}

/** A mark that is found again in the document, with what would do something on both sides of it. */
const MARK = 'canarymark';
const piercing = fc
  .tuple(
    hostile,
    fc.constantFrom('<', '</style><', '"><', "'><", '&', '`', '](', '<!--', ']]>', '</title><'),
    fc.constantFrom('>', ' onload=x>', '"', '/>'),
  )
  .map(([around, before, after]) => `${around}${before}${MARK}${after}`);

fuzz(
  'in a report, no text of a session is a tag, an attribute or a part of the style',
  { runs: 25, input: piercing },
  text => {
    const said = events.map(event => saying(event, text)) as SessionEvent[];
    const html = reportHtml(viewOf(said), { title: text });
    const style = /<style>[\s\S]*?<\/style>/.exec(html)?.[0] ?? '';
    expect(style).not.toContain(MARK);
    expect(html.match(/<\/?(?:style|script|iframe|img|object|embed|form|link|base)\b/gi)?.length).toBe(2);
    const document = html.replace(style, '');
    for (const [tag] of document.matchAll(/<[a-z!/](?:"[^"]*"|[^">])*>/gi)) {
      const bare = tag.replace(/="[^"]*"/g, '=');
      expect(bare).not.toContain(MARK);
      expect(bare).not.toMatch(/\s(?:on\w+|style)=/i);
    }
  },
);
