/** The pages in docs/migrate: the program of each, after the migration, runs as it stands there; and no document is out of reach. */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Steered, TurnResult } from 'looprig';
import { type ScriptedStep, scriptedModel } from 'looprig/testing';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

mkdirSync(join(root, 'temp'), { recursive: true });
const folder = mkdtempSync(join(root, 'temp/migrate-'));

/** Writes the program of a page to a file of its own, so that importing it runs it anew, as another process would. */
function programOf(page: string, run = 1): string {
  const code = /^## After\n\n```ts\n(.*?)^```$/ms.exec(read(`docs/migrate/${page}`))?.[1];
  if (code === undefined) throw new Error(`${page} has no program under "After"`);
  const file = join(folder, `${page.replace('.md', '')}-${run}.ts`);
  writeFileSync(file, code);
  return file;
}

/** The pages take a model for granted: this one plays a script. */
function play(...steps: readonly ScriptedStep[]): ReturnType<typeof scriptedModel> {
  const model = scriptedModel(steps);
  Object.assign(globalThis, { model });
  return model;
}

const looksUp = { calls: [{ tool: 'price', input: { thing: 'lamp' } }] };
const pays = { calls: [{ tool: 'pay', input: { euros: 4 } }] };

/** The text of the last result that the model was given before its last answer. */
function lastResult(model: ReturnType<typeof scriptedModel>): unknown {
  const message = model.requests.at(-1)?.prompt.at(-1);
  const part = message?.role === 'tool' ? message.content.at(-1) : undefined;
  return part?.type === 'tool-result' && 'value' in part.output ? part.output.value : undefined;
}

afterEach(() => {
  vi.unstubAllEnvs();
  Reflect.deleteProperty(globalThis, 'model');
});

type MayI = (call: string) => Promise<boolean>;

describe('from-openai-agents.md', () => {
  interface Page {
    buy(wish: string, mayI: MayI): Promise<unknown>;
  }
  const answers = { calls: [{ tool: '_looprig_final_output', input: { thing: 'lamp', euros: 4 } }] };

  it('pays once it may, and answers by its schema', async () => {
    const model = play(looksUp, pays, answers);
    const { buy }: Page = await import(programOf('from-openai-agents.md'));
    const asked: string[] = [];
    expect(await buy('Buy a lamp.', async call => asked.push(call) > 0)).toEqual({ thing: 'lamp', euros: 4 });
    expect(asked).toEqual(['pay 4 €']);
    expect(lastResult(model)).toBe('paid 4 €');
    model.assertUsed();
  });

  it('tells the model why it may not pay', async () => {
    const model = play(looksUp, pays, answers);
    const { buy }: Page = await import(programOf('from-openai-agents.md', 2));
    await buy('Buy a lamp.', async () => false);
    expect(lastResult(model)).toBe('permission denied: not this time');
    model.assertUsed();
  });
});

describe('from-langgraph.md', () => {
  interface Page {
    ask(wish: string): Promise<{ thread: string; asked?: string[]; answer?: string }>;
    decide(thread: string, isAllowed: boolean): Promise<{ asked?: string[]; answer?: string }>;
  }

  /** The program as a process of its own: each has its own rig and store, on one file. */
  async function start(run: number): Promise<Page> {
    vi.stubEnv('SESSIONS', join(folder, 'sessions.db'));
    return import(programOf('from-langgraph.md', run));
  }

  it('asks, and pays where it was asked', async () => {
    const model = play(looksUp, pays, { text: 'It is yours.' });
    const { ask, decide } = await start(1);
    const { thread, asked } = await ask('Buy a lamp.');
    expect(asked).toEqual(['pay 4 €']);
    expect(await decide(thread, true)).toEqual({ thread, answer: 'It is yours.' });
    expect(lastResult(model)).toBe('paid 4 €');
    model.assertUsed();
  });

  it('asks in one process, and is answered in another', async () => {
    const first = play(looksUp, pays);
    const { thread } = await (await start(2)).ask('Buy a lamp.');
    first.assertUsed();
    const second = play({ text: 'Then not.' });
    expect(await (await start(3)).decide(thread, false)).toEqual({ thread, answer: 'Then not.' });
    expect(lastResult(second)).toBe('permission denied: not this time');
    second.assertUsed();
  });

  it('asks again where the model calls again', async () => {
    const model = play(pays, pays, { text: 'Two are yours.' });
    const { ask, decide } = await start(4);
    const { thread } = await ask('Buy two lamps.');
    expect(await decide(thread, true)).toEqual({ thread, asked: ['pay 4 €'] });
    expect(await decide(thread, true)).toEqual({ thread, answer: 'Two are yours.' });
    model.assertUsed();
  });
});

describe('from-mastra.md', () => {
  interface Page {
    buy(wish: string, mayI: MayI, show: (text: string) => void): Promise<string>;
  }

  it('pays once it may, and shows its text as it comes', async () => {
    const model = play({ text: 'Let me see. ', ...looksUp }, pays, { text: 'It is yours.', deltas: 3 });
    const { buy }: Page = await import(programOf('from-mastra.md'));
    const shown: string[] = [];
    expect(
      await buy(
        'Buy a lamp.',
        async call => call === 'pay 4 €',
        text => shown.push(text),
      ),
    ).toBe('It is yours.');
    expect(shown.length).toBeGreaterThan(2);
    expect(shown.join('')).toBe('Let me see. It is yours.');
    expect(lastResult(model)).toBe('paid 4 €');
    model.assertUsed();
  });
});

describe('from-pi.md', () => {
  interface Buyer {
    buy(wish: string): Promise<TurnResult>;
    say(more: string): Promise<Steered>;
    close(): Promise<void>;
  }
  interface Page {
    buyer(mayI: MayI, show: (text: string) => void): Promise<Buyer>;
  }

  it('may not pay, and hears what it is told meanwhile', async () => {
    const model = play(looksUp, pays, { text: 'A chair, then.' });
    const { buyer }: Page = await import(programOf('from-pi.md'));
    const shown: string[] = [];
    const told: Promise<Steered>[] = [];
    const agent: Buyer = await buyer(
      async () => {
        told.push(agent.say('Rather a chair.'));
        return false;
      },
      text => shown.push(text),
    );
    expect(await agent.buy('Buy a lamp.')).toMatchObject({ status: 'done', text: 'A chair, then.', calls: 2 });
    expect(shown.join('')).toBe('A chair, then.');
    expect((await Promise.all(told)).map(steered => steered.kind)).toEqual(['folded']);
    const [result, steering] = model.requests.at(-1)?.prompt.slice(-2) ?? [];
    expect(result).toMatchObject({
      role: 'tool',
      content: [{ output: { value: 'permission denied: not this time' } }],
    });
    expect(steering).toMatchObject({ role: 'user', content: [{ text: 'Rather a chair.' }] });
    model.assertUsed();
    await agent.close();
  });
});

describe('the documents', () => {
  it('all can be reached from the README by their links', () => {
    const reached = new Set<string>();
    const visit = (document: string): void => {
      if (reached.has(document)) return;
      reached.add(document);
      for (const [, link = ''] of read(document).matchAll(/\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)/g)) {
        visit(join(dirname(document), link));
      }
    };
    visit('README.md');
    const unreached = globSync('docs/**/*.md', { cwd: root }).filter(document => !reached.has(document));
    expect(unreached).toEqual([]);
  });

  it('docs/migrate/README.md names every page beside it', () => {
    const pages = globSync('docs/migrate/from-*.md', { cwd: root }).map(page => page.replace('docs/migrate/', ''));
    expect(pages.length).toBeGreaterThan(4);
    expect(pages.filter(page => !read('docs/migrate/README.md').includes(`](${page})`))).toEqual([]);
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));
