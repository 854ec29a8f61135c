import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineLoop, defineRig, type Message, type ModelRequest, type ModelStreamPart, memoryStore } from 'looprig';
import { manualClock } from 'looprig/testing';
import { workspaceTools } from 'looprig/workspace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../define/tool.ts';
import { demoModel } from './demo-model.ts';
import { questionWords } from './demo-plan.ts';

const say = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

const offered = (...names: string[]): NonNullable<ModelRequest['tools']> =>
  names.map(name => ({ type: 'function', name, inputSchema: { type: 'object' } }));

const ALL = offered('list_files', 'read_file', 'search_text');

type Output = Extract<Extract<Message, { role: 'tool' }>['content'][number], { type: 'tool-result' }>['output'];

interface Answered {
  readonly tool: string;
  readonly input?: object;
  readonly output: string | Output;
}

/** One step of a turn as it stands in a prompt: the calls of a response, and their results. */
function stepOf(index: number, calls: readonly Answered[]): Message[] {
  const id = (at: number): string => `call-${index}-${at}`;
  return [
    {
      role: 'assistant',
      content: calls.map(({ tool, input = {} }, at) => ({
        ...{ type: 'tool-call', toolCallId: id(at), toolName: tool, input },
      })),
    } as Message,
    {
      role: 'tool',
      content: calls.map(({ tool, output }, at) => ({
        ...{ type: 'tool-result', toolCallId: id(at), toolName: tool },
        output: typeof output === 'string' ? { type: 'text', value: output } : output,
      })),
    } as Message,
  ];
}

const turn = (question: string, ...steps: readonly (readonly Answered[])[]): Message[] => [
  say(question),
  ...steps.flatMap((calls, index) => stepOf(index, calls)),
];

async function ask(prompt: Message[], options: Partial<ModelRequest> = {}) {
  const { content, finishReason } = await demoModel().doGenerate({ prompt, tools: ALL, ...options });
  const calls = content.flatMap(part =>
    part.type === 'tool-call'
      ? [{ tool: part.toolName, input: JSON.parse(part.input) as Record<string, unknown> }]
      : [],
  );
  const text = content.map(part => (part.type === 'text' ? part.text : '')).join('');
  return { calls, text, finish: finishReason.unified };
}

const LISTED: Answered = { tool: 'list_files', output: 'README.md\npackage.json\nsrc/a.ts\n\n[3 files]' };
const READ: Answered = {
  tool: 'read_file',
  input: { path: 'README.md' },
  output: 'README.md (2 lines)\n# Title\ntext',
};

describe('the steps of the demo model', () => {
  it('are a listing, reading side by side, a search, reading around what was found, and an answer', async () => {
    const question = 'Where are limits checked?';
    const first = await ask(turn(question));
    expect(first.calls).toEqual([{ tool: 'list_files', input: { limit: 500 } }]);
    expect(first.finish).toBe('tool-calls');

    const second = await ask(turn(question, [LISTED]));
    expect(second.calls.map(({ tool, input }) => [tool, input.path])).toEqual([
      ['read_file', 'README.md'],
      ['read_file', 'package.json'],
      ['read_file', 'src/a.ts'],
    ]);

    const third = await ask(turn(question, [LISTED], [READ]));
    expect(third.calls.map(({ tool, input }) => [tool, input.query])).toEqual([
      ['search_text', 'limits'],
      ['search_text', 'checked'],
    ]);

    const found: Answered = {
      tool: 'search_text',
      input: { query: 'limits' },
      output: 'README.md:2: text\nsrc/deep.ts:40: check(limits)\n\n[2 matches in 2 files of 9 files searched]',
    };
    const fourth = await ask(turn(question, [LISTED], [READ], [found]));
    expect(fourth.calls).toEqual([{ tool: 'read_file', input: { path: 'src/deep.ts', start_line: 30, end_line: 50 } }]);

    const around: Answered = {
      tool: 'read_file',
      input: { path: 'src/deep.ts' },
      output: 'src/deep.ts (lines 30-50 of 80)\nexport function check() {}\n[read on with start_line 51]',
    };
    const last = await ask(turn(question, [LISTED], [READ], [found], [around]));
    expect(last.calls).toEqual([]);
    expect(last.finish).toBe('stop');
    expect(last.text).toContain('I listed 3 files: 1 .json, 1 .md and 1 .ts.');
    expect(last.text).toContain('- `README.md`, 2 lines: title “Title”');
    expect(last.text).toContain('- `src/deep.ts`, 80 lines, of which I read 30–30: exports `check`');
    expect(last.text).toContain(
      '- “limits”: 2 matches in 2 files of 9 files searched\n  - `README.md:2` “text”\n  - `src/deep.ts:40` “check(limits)”',
    );
  });

  it('use only the tools that are offered', async () => {
    expect((await ask(turn('limits?'), { tools: offered('search_text', 'other') })).calls).toEqual([
      { tool: 'search_text', input: { query: 'limits', ignore_case: true, limit: 20 } },
    ]);
    expect((await ask(turn('limits?'), { tools: offered('read_file') })).calls.map(call => call.input.path)).toEqual([
      'README.md',
      'package.json',
    ]);
    const none = await ask(turn('limits?'), { tools: [] });
    expect(none.calls).toEqual([]);
    expect(none.text).toContain('I have seen nothing');
  });

  it('end at once when tools are off, or when limits are said to be near, with what there is', async () => {
    const off = await ask(turn('limits?', [LISTED]), { toolChoice: { type: 'none' } });
    expect(off.calls).toEqual([]);
    expect(off.text).toContain('I listed 3 files');
    expect(off.text).toContain('I was told to come to an end');
    const note = say(
      'Note: 1 of 5 rounds of tool calls are left before this turn is stopped. Finish with what you have, and answer.',
    );
    const near = await ask([...turn('limits?', [LISTED]), note]);
    expect(near.calls).toEqual([]);
    expect(near.text).toContain('I listed 3 files');
  });

  it('start anew with each user message', async () => {
    const before = turn('limits?', [LISTED], [READ]);
    const next = await ask([
      ...before,
      { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
      say('And modes?'),
    ]);
    expect(next.calls.map(call => call.tool)).toEqual(['list_files']);
  });

  it('prefer files that the question names, and leave out what is no text or generated', async () => {
    const paths = [
      'a.png',
      'dist/x.js',
      'lib/gate.ts',
      'package-lock.json',
      'src/lanes.ts',
      'src/lanes.test.ts',
      'z.md',
    ];
    const listed: Answered = { tool: 'list_files', output: `${paths.join('\n')}\n\n[7 files]` };
    const { calls } = await ask(turn('How do lanes work?', [listed]));
    expect(calls.map(call => call.input.path)).toEqual(['src/lanes.ts', 'src/lanes.test.ts', 'z.md', 'lib/gate.ts']);
    const named = await ask(turn('What is in lib/gate.ts?', [listed]));
    expect(named.calls[0]?.input.path).toBe('lib/gate.ts');
  });

  it('read at most six files', async () => {
    const paths = Array.from({ length: 50 }, (_, at) => `f${at}.md`).join('\n');
    const { calls } = await ask(turn('x', [{ tool: 'list_files', output: `${paths}\n\n[50 files]` }]));
    expect(calls).toHaveLength(6);
  });

  it('search for words that say something, names in code first', () => {
    expect(questionWords('How does the turn use maxWidth, and what is README.md for? Turn!')).toEqual([
      'maxWidth',
      'README.md',
      'turn',
    ]);
    expect(questionWords('Was ist die Länge?')).toEqual(['ist', 'die', 'Länge']);
    expect(questionWords('what is this?')).toEqual([]);
  });

  it('have no search when the question has no such words', async () => {
    const { calls, text } = await ask(turn('What is this?', [LISTED], [READ]));
    expect(calls).toEqual([]);
    expect(text).toContain('title “Title”');
  });

  it('have ids that differ from step to step, and are the same on every run', async () => {
    const ids = async (prompt: Message[]): Promise<string[]> =>
      (await demoModel().doGenerate({ prompt, tools: ALL })).content.flatMap(part =>
        part.type === 'tool-call' ? [part.toolCallId] : [],
      );
    const steps = [...(await ids(turn('x'))), ...(await ids(turn('x', [LISTED])))];
    expect(new Set(steps).size).toBe(steps.length);
    expect(await ids(turn('x', [LISTED]))).toEqual(steps.slice(1));
  });
});

describe('the answer of the demo model', () => {
  const finish = { toolChoice: { type: 'none' } } as const;
  const answer = async (...steps: readonly (readonly Answered[])[]): Promise<string> =>
    (await ask(turn('x', ...steps), finish)).text;

  it('says that it is the demo model', async () => {
    expect(await answer([LISTED])).toMatch(
      /^I am looprig's offline demo model: I follow fixed rules and understand nothing\./,
    );
  });

  it('says what a package says about itself', async () => {
    const manifest = {
      ...{ name: 'thing', version: '1.2.3', description: 'A thing.' },
      ...{ scripts: { build: 'tsc', test: 'vitest' }, dependencies: { zod: '4' }, devDependencies: {} },
    };
    const body = JSON.stringify(manifest, null, 2);
    const output = `package.json (${body.split('\n').length} lines)\n${body}`;
    expect(await answer([{ tool: 'read_file', input: { path: 'package.json' }, output }])).toContain(
      '`package.json`, 13 lines: package **thing** 1.2.3; “A thing.”; 2 scripts: build, test; 1 dependency: zod',
    );
  });

  it('takes nothing from a package file of which it saw a part, or that is no JSON', async () => {
    const part = 'package.json (lines 1-2 of 90)\n{\n  "name": "thing",\n[read on with start_line 3]';
    const text = await answer([{ tool: 'read_file', input: { path: 'package.json' }, output: part }]);
    expect(text).toContain('`package.json`, 90 lines, of which I read 1–2: begins with “"name": "thing",”');
    const broken = await answer([{ tool: 'read_file', output: 'package.json (1 line)\n{ broken' }]);
    expect(broken).toContain('1 line: begins with “{ broken”');
  });

  it('gives the headings of a text, and not the comments of its code', async () => {
    const output = 'README.md (6 lines)\n# One\n## Two\n```\n# no heading\n```\n## Three';
    expect(await answer([{ tool: 'read_file', output }])).toContain('title “One”; 2 more headings: Two, Three');
  });

  it('counts from a listing what was listed, and gives the number of all as the tool said it', async () => {
    const output =
      'a.ts\nb.ts\nMakefile\n.env\n\n[the first 4 of 1,234 files: give a narrower path or pattern to see the rest]';
    expect(await answer([{ tool: 'list_files', output }])).toContain(
      'There are 1,234 files, of which 4 were listed: 2 .ts and 2 without an ending.',
    );
  });

  it('leaves out the halves of lines at a place where a result was cut', async () => {
    const listed = 'a.ts\nsrc/ver\n[... 900 of 1200 bytes left out here. ...]\nlong.ts\nz.ts\n\n[40 files]';
    expect(await answer([{ tool: 'list_files', output: listed }])).toContain(
      'There are 40 files, of which 2 were listed: 2 .ts.',
    );
    const manifest = 'package.json (3 lines)\n{ "name":\n[... 5 of 9 bytes left out here. ...]\n}';
    expect(await answer([{ tool: 'read_file', output: manifest }])).toContain('3 lines, of which I read 1–1');
  });

  it('tells of empty folders, empty files and searches that found nothing', async () => {
    expect(await answer([{ tool: 'list_files', output: '[no files]' }])).toContain('There are no files here.');
    expect(await answer([{ tool: 'read_file', output: 'a.txt (empty)' }])).toContain('- `a.txt` is empty');
    const search: Answered = { tool: 'search_text', input: { query: 'q' }, output: '[no matches in 3 files]' };
    expect(await answer([search])).toContain('“q”: no matches in 3 files');
  });

  it('tells of calls that failed, in every form in which a failure comes', async () => {
    const failures: Output[] = [
      { type: 'error-text', value: 'first reason' },
      { type: 'error-json', value: { why: 'second reason' } },
      { type: 'execution-denied', reason: 'third reason' },
      { type: 'execution-denied' },
      {
        type: 'content',
        value: [
          { type: 'text', text: 'The call failed:' },
          { type: 'text', text: 'fourth reason' },
        ],
      },
    ];
    const text = await answer(
      failures.map((output): Answered => ({ tool: 'read_file', input: { path: 'a' }, output })),
    );
    expect(text).toContain(
      [
        '**Not done.**',
        '- read_file a: first reason',
        '- read_file a: {"why":"second reason"}',
        '- read_file a: third reason',
        '- read_file a: permission denied',
        '- read_file a: The call failed: fourth reason',
      ].join('\n'),
    );
    expect(text).not.toContain('**Read.**');
  });

  it('goes on when listing or reading failed', async () => {
    const failed: Answered = { tool: 'list_files', output: { type: 'error-text', value: 'broken' } };
    expect((await ask(turn('limits?', [failed]))).calls.map(call => call.tool)).toEqual(['read_file', 'read_file']);
    const unread: Answered = { tool: 'read_file', output: { type: 'error-text', value: 'broken' } };
    expect((await ask(turn('limits?', [LISTED], [unread]))).calls.map(call => call.tool)).toEqual(['search_text']);
  });

  it('reads results that come as JSON or as parts', async () => {
    const json: Answered = { tool: 'list_files', output: { type: 'json', value: 'a.ts\n\n[1 file]' } };
    const parts: Answered = {
      tool: 'read_file',
      output: { type: 'content', value: [{ type: 'text', text: 'a.ts (1 line)\nexport const x = 1;' }] },
    };
    const text = await answer([json], [parts]);
    expect(text).toContain('I listed 1 file: 1 .ts.');
    expect(text).toContain('`a.ts`, 1 line: exports `x`');
  });

  it('takes the answer of another tool of the same name as text', async () => {
    const other: Answered = { tool: 'read_file', input: { path: 'x.txt' }, output: 'hello\nworld' };
    expect(await answer([other])).toContain('- `x.txt`, 2 lines of it: begins with “hello”');
  });
});

describe('the stream of the demo model', () => {
  const prompt = turn('x', [LISTED], [READ]);

  async function streamed(model = demoModel(), options: Partial<ModelRequest> = {}): Promise<ModelStreamPart[]> {
    const { stream } = await model.doStream({ prompt, tools: ALL, ...options });
    const parts: ModelStreamPart[] = [];
    for await (const part of stream) parts.push(part);
    return parts;
  }

  it('is the same response as the one in a piece, word by word', async () => {
    const parts = await streamed();
    const whole = await demoModel().doGenerate({ prompt, tools: ALL });
    const deltas = parts.flatMap(part => (part.type === 'text-delta' ? [part.delta] : []));
    const text = whole.content.find(part => part.type === 'text');
    expect(deltas.join('')).toBe(text?.text);
    expect(deltas.every(delta => delta.trim().split(/\s+/).length === 1)).toBe(true);
    expect(parts.map(part => part.type).filter(type => !type.endsWith('-delta'))).toEqual([
      ...['stream-start', 'response-metadata', 'reasoning-start', 'reasoning-end', 'text-start', 'text-end', 'finish'],
    ]);
    expect(parts.at(-1)).toMatchObject({ finishReason: whole.finishReason, usage: whole.usage });
  });

  it('gives each call with its input before it', async () => {
    const parts = await streamed(demoModel(), { prompt: turn('x') });
    const types = parts.map(part => part.type).filter(type => type.startsWith('tool'));
    expect(types).toEqual(['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call']);
  });

  it('estimates usage at four characters a token', async () => {
    const { usage, content } = await demoModel().doGenerate({ prompt, tools: ALL });
    const length = content.reduce((sum, part) => sum + ('text' in part ? Math.ceil(part.text.length / 4) : 0), 0);
    expect(usage.outputTokens.total).toBe(length);
    expect(usage.inputTokens.total).toBe(Math.ceil(JSON.stringify([prompt, ALL]).length / 4));
  });

  it('waits before each word when asked, and not otherwise', async () => {
    const clock = manualClock();
    const parts = await clock.runUntil(streamed(demoModel({ delayMs: 50, clock })));
    const deltas = parts.filter(part => part.type.endsWith('-delta')).length;
    expect(clock.now()).toBe(deltas * 50);
    const still = manualClock();
    await streamed(demoModel({ clock: still }));
    expect(still.now()).toBe(0);
  });

  it('ends when the request is aborted', async () => {
    const controller = new AbortController();
    const { stream } = await demoModel().doStream({ prompt, tools: ALL, abortSignal: controller.signal });
    const reader = stream.getReader();
    await reader.read();
    controller.abort(new Error('stopped by the test'));
    const drain = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(drain()).rejects.toThrow('stopped by the test');
    const { signal } = controller;
    await expect(demoModel().doGenerate({ prompt, abortSignal: signal })).rejects.toThrow('stopped by the test');
  });

  it('warns that it gives no JSON, and that it knows none of the tools', async () => {
    const request = { prompt, tools: offered('other'), responseFormat: { type: 'json' } } as const;
    const { warnings } = await demoModel().doGenerate({ ...request, tools: [...request.tools] });
    expect(warnings.map(warning => warning.type)).toEqual(['unsupported', 'other']);
  });
});

describe('the demo model in a session', () => {
  let root: string;
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'looprig-demo-')));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function fill(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
  }

  const loopOf = (tools: readonly ToolDefinition[] = workspaceTools({ readOnly: true }), limits = {}) =>
    defineLoop({ name: 'demo', model: demoModel(), tools: [...tools], limits, atLimit: 'answer' });

  it('answers with what is really there, over several turns and after a restart', async () => {
    await fill({
      'README.md': '# Garden\n\nGrows plants.\n\n## Watering\n',
      'package.json': '{ "name": "garden", "version": "2.0.0", "scripts": { "grow": "node src/index.js" } }\n',
      'src/index.js': 'export function water(plant) {}\n',
      'src/soil.js': `${'// earth\n'.repeat(300)}const moisture = 1;\n`,
    });
    const store = memoryStore();
    const first = await defineRig({ loops: [loopOf()], store, workspace: root }).open();
    const { text, iterations } = await first.run('How is moisture measured?');
    expect(iterations).toBe(4);
    expect(text).toContain('I listed 4 files: 2 .js, 1 .json and 1 .md.');
    expect(text).toContain('- `README.md`, 5 lines: title “Garden”; 1 more heading: Watering');
    expect(text).toContain('package **garden** 2.0.0; 1 script: grow');
    expect(text).toContain('- `src/soil.js`, 301 lines, of which I read 1–200: begins with “// earth”');
    expect(text).toContain(
      '- “moisture”: 1 match in 1 file of 4 files searched\n  - `src/soil.js:301` “const moisture = 1;”',
    );
    expect(text).toContain('- `src/soil.js`, 301 lines, of which I read 291–301');
    const second = await first.run('What about water?');
    expect(second.text).toContain('`src/index.js:1` “export function water(plant) {}”');
    await first.close();

    const restored = await defineRig({ loops: [loopOf()], store, workspace: root }).open({ sessionId: first.id });
    const third = await restored.run('What is this?');
    expect(third.text).toContain('I listed 4 files');
    expect(third.text).not.toContain('moisture');
    await restored.close();
  });

  it('copes with an empty folder', async () => {
    const session = await defineRig({ loops: [loopOf()], workspace: root }).open();
    const { text, iterations } = await session.run('Where are the limits?');
    expect(iterations).toBe(1);
    expect(text).toContain('There are no files here.');
    await session.close();
  });

  it('copes with a folder without a README, with files that cannot be shown and with results that are cut', async () => {
    await fill({ 'notes.txt': 'limits\n'.repeat(500), 'limits.dat': 'a\0b' });
    const session = await defineRig({ loops: [loopOf(undefined, { resultBytes: 300 })], workspace: root }).open();
    const { text } = await session.run('Where are the limits?');
    expect(text).toContain('`notes.txt`, 500 lines, of which I read 1–');
    expect(text).toContain('- read_file limits.dat: limits.dat is a binary file of 3 bytes');
    await session.close();
  });

  it('answers with what it has when a limit is reached', async () => {
    await fill({ 'README.md': '# Garden\n' });
    const session = await defineRig({ loops: [loopOf(undefined, { iterations: 1 })], workspace: root }).open();
    const { text, limited } = await session.run('Where are the limits?');
    expect(limited?.limit).toBe('iterations');
    expect(text).toContain('I listed 1 file: 1 .md.');
    expect(text).toContain('I was told to come to an end');
    await session.close();
  });
});
