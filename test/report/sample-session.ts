/** A session as people have them: what it shows is drawn by the tests of reports and of the studio, and stands in the documents as pictures. */
import {
  type Clock,
  defineLoop,
  defineRig,
  type JournalStore,
  type LoopDefinition,
  memoryStore,
  type SessionEvent,
  toolError,
} from 'looprig';
import { manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';

/** When it began. */
const START = Date.UTC(2026, 10, 3, 9, 41, 7);

const ANSWER = `The release notes are in \`CHANGELOG.md\`. What changed since **0.4.2**:

- \`parseRange\` accepts an open end (\`bytes=500-\`)
- three links in the documentation led nowhere; two are mended
- the build no longer needs the \`iconv\` headers

| check | result |
| --- | --- |
| unit tests | 412 passed |
| types | clean |
| links | 1 left, see below |

\`docs/legacy.md\` still links to a page that is gone. I left it, since you said no file of \`docs/\` may change.`;

const CHANGES = `## 0.5.0

- \`parseRange\` accepts an open end.
- Links in the documentation are checked.
`;

const REPLIES: readonly ScriptedReply[] = [
  {
    delayMs: 1_400,
    text: 'I look at what changed since the last release, and at what the documentation says of it.',
    usage: { inputTokens: 2_140, outputTokens: 212 },
    calls: [
      { tool: 'git_log', id: 'c1', input: { since: 'v0.4.2' } },
      { tool: 'read_file', id: 'c2', input: { path: 'CHANGELOG.md' } },
      { tool: 'search', id: 'c3', input: { text: 'parseRange', folder: 'docs' } },
      { tool: 'fetch_page', id: 'c4', input: { url: 'https://example.org/releases/latest' } },
      { tool: 'read_file', id: 'c5', input: { path: 'docs/legacy.md' } },
      { tool: 'search', id: 'c6', input: { text: 'iconv', folder: '.' } },
    ],
  },
  {
    delayMs: 2_100,
    reasoning:
      'The page is gone, so the list of releases must come from the tags. Then the notes can be written, before the tests run.',
    text: 'The page of the last release is gone; the tags say enough. I write the notes and run the tests.',
    usage: { inputTokens: 9_870, outputTokens: 640, cachedInputTokens: 2_100, reasoningTokens: 180 },
    calls: [
      { tool: 'write_file', id: 'c7', input: { path: 'CHANGELOG.md', text: CHANGES } },
      {
        tool: 'write_file',
        id: 'c8',
        input: { path: 'CHANGELOG.md', text: `${CHANGES}- The build needs no headers of iconv.\n` },
      },
      { tool: 'write_file', id: 'c9', input: { path: 'docs/index.md', text: '# Notes\n' } },
      { tool: 'read_file', id: 'c10', input: { path: 'package.json' } },
      { tool: 'run', id: 'c11', input: { command: 'npm test' } },
    ],
  },
  {
    delayMs: 900,
    text: 'The tests pass. I look once more at the links.',
    usage: { inputTokens: 14_320, outputTokens: 188, cachedInputTokens: 9_600 },
    calls: [
      { tool: 'search', id: 'c12', input: { text: '](', folder: 'docs' } },
      { tool: 'fetch_page', id: 'c13', input: { url: 'https://example.org/guide' } },
      { tool: 'fetch_page', id: 'c14', input: { url: 'https://example.org/legacy' } },
    ],
  },
  { delayMs: 1_700, text: ANSWER, usage: { inputTokens: 16_900, outputTokens: 402, cachedInputTokens: 14_000 } },
  {
    delayMs: 700,
    text: 'I tag it and push the tag.',
    usage: { inputTokens: 17_600, outputTokens: 96, cachedInputTokens: 16_800 },
    calls: [
      { tool: 'run', id: 'c15', input: { command: 'git tag v0.5.0' } },
      { tool: 'run', id: 'c16', input: { command: 'git push origin v0.5.0' } },
    ],
  },
  { delayMs: 60_000, text: 'never' },
];

/** How long each call takes. */
const TIMES: Readonly<Record<string, number>> = {
  ...{ 'v0.4.2': 340, 'CHANGELOG.md': 120, parseRange: 610, 'https://example.org/releases/latest': 1_450 },
  ...{ 'docs/legacy.md': 150, iconv: 480, 'docs/index.md': 90, 'package.json': 60, 'npm test': 4_200, '](': 700 },
  ...{ 'https://example.org/guide': 820, 'https://example.org/legacy': 1_180, 'git tag v0.5.0': 140 },
};

/** The loop, on a clock: its tools take their time, and do nothing. */
export function sampleLoop(clock: Clock): LoopDefinition {
  const takes = (input: object): number => {
    const key = Object.values(input).find(value => typeof value === 'string' && value in TIMES) as string | undefined;
    return key === undefined ? 300 : (TIMES[key] ?? 300);
  };
  const tool = (name: string, options: object) => scriptedTool(name, { clock, sleepMs: takes, ...options }).definition;
  const gone = new Set(['https://example.org/releases/latest', 'https://example.org/legacy']);
  return defineLoop({
    name: 'maintainer',
    model: scriptedModel([...REPLIES], { clock }),
    tools: [
      tool('git_log', {
        returns: () => 'a41f0c2 parseRange: open end\n77be210 links of the documentation\n0c9d1ee build without iconv',
      }),
      tool('read_file', {
        summary: ({ path }: { path: string }) => path,
        returns: ({ path }: { path: string }) => `# ${path}\n\nThe first lines of the file.`,
      }),
      tool('search', {
        summary: ({ text, folder }: { text: string; folder: string }) => `“${text}” in ${folder}`,
        returns: () => ({
          matches: [
            { path: 'docs/range.md', line: 12 },
            { path: 'docs/legacy.md', line: 40 },
          ],
        }),
      }),
      tool('fetch_page', {
        summary: ({ url }: { url: string }) => url,
        returns: ({ url }: { url: string }) => (gone.has(url) ? toolError(`${url}: 404 Not Found`) : 'A page of text.'),
      }),
      tool('write_file', {
        summary: ({ path }: { path: string }) => path,
        resource: ({ path }: { path: string }) => path,
        access: ({ path }: { path: string }) => [{ action: 'fs.write', target: path }],
        returns: ({ path }: { path: string }) => `wrote ${path}`,
      }),
      tool('run', {
        sequential: true,
        summary: ({ command }: { command: string }) => command,
        access: ({ command }: { command: string }) => [{ action: 'command.run', target: command }],
        returns: () => '412 tests passed',
      }),
    ],
    limits: { iterations: 10, calls: 20, parallel: 4, tokens: 60_000 },
  });
}

/** What a person did, and when it was. */
export interface SampleSession {
  readonly store: JournalStore;
  readonly sessionId: string;
  readonly events: readonly SessionEvent[];
}

/** Two turns: one that was answered, with approvals, an edit and a word in between; one that was interrupted. */
export async function sampleSession(store: JournalStore = memoryStore(), start = START): Promise<SampleSession> {
  const clock = manualClock(start);
  const events: SessionEvent[] = [];
  const rig = defineRig({
    ...{ loops: [sampleLoop(clock)], store, clock },
    gate: { ask: true, rules: [{ action: 'command.run', target: 'npm *', decision: 'allow' }] },
    observers: [event => void events.push(event)],
  });
  const session = await rig.open();
  const turn = session.submit('Prepare the release 0.5.0: notes, tests and links. Change nothing in docs/.');
  await clock.advance(3_000);
  void session.steer('Leave docs/legacy.md as it is, please.');
  await clock.advance(6_000);
  await clock.advance(14_000); // nobody looks
  const gates = new Map(session.gates.map(gate => [gate.callId, gate.gateId]));
  await session.answer(gates.get('c7')!, { decision: 'approve' });
  await session.answer(gates.get('c9')!, { decision: 'deny', reason: 'nothing in docs/ may change' });
  await clock.advance(2_500);
  const edited = { path: 'CHANGELOG.md', text: `${CHANGES}- The build no longer needs the headers of iconv.\n` };
  await session.answer(gates.get('c8')!, { decision: 'edit', input: edited });
  await clock.runUntil(turn.result);
  await clock.advance(45_000);
  const second = session.submit('Good. Tag it and push the tag.');
  await clock.advance(2_000);
  const [tag, push] = session.gates;
  await session.answer(tag!.gateId, { decision: 'approveAlways' });
  await clock.advance(5_000);
  await session.answer(push!.gateId, { decision: 'approve' });
  await clock.advance(250);
  second.interrupt('wrong remote');
  await clock.runUntil(second.result);
  await session.close();
  return { store, sessionId: session.id, events };
}
