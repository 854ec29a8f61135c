/** The studio where something is special: tokens, lost connections, turns that were left, hostile texts, narrow and dark pages, very long sessions. */
import { defineLoop, defineRig, delegate, memoryStore } from 'looprig';
import { type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { sampleLoop, sampleSession } from '../report/sample-session.ts';
import { seriousFaults } from './axe.ts';
import type { Page } from './services.ts';
import { studioBrowser, TIME } from './studio-browser.ts';
import { stageClock, stageOf } from './studio-stage.ts';

const studio = studioBrowser();
const TOKEN = 'a-token-of-the-test-1';

const answering = (...replies: readonly ScriptedReply[]) =>
  defineLoop({ name: 'clerk', model: scriptedModel(replies) });

describe('the studio', () => {
  it('takes its token out of the address, and asks for one that is missing', TIME, async () => {
    await using stage = await stageOf(studio.files, [answering({ text: 'Five.' })], { server: { token: TOKEN } });
    const sessionId = await stage.host.begin();
    await stage.host.submit(sessionId, 'How many?');
    await using tab = await studio.browser.open(`${stage.url}/#token=${TOKEN}`);
    await tab.page.getByText('How many?').nth(0).waitFor();
    expect(tab.page.url()).toBe(`${stage.url}/#/`);
    await tab.page.reload();
    await tab.page.getByText('How many?').nth(0).waitFor();
    await using other = await studio.browser.open(stage.of(sessionId));
    const field = other.page.getByLabel('Token');
    await field.fill('another-token-of-it');
    await field.press('Enter');
    await other.page.getByText('This server asks for its token').waitFor();
    expect(await seriousFaults(other.page)).toEqual([]);
    await field.fill(TOKEN);
    await field.press('Enter');
    await other.page.getByText('Five.').nth(0).waitFor();
    expect([...tab.complaints, ...other.complaints]).toEqual([]);
  });

  it('goes on where its connection was cut, and shows each event once', TIME, async () => {
    const clock = stageClock();
    const slow = scriptedTool('slow', { clock, sleepMs: 1_000 });
    const work: ScriptedReply = { text: 'I work.', calls: [{ tool: 'slow' }, { tool: 'slow' }] };
    const model = scriptedModel([work, { text: 'All done.' }], { clock });
    const loop = defineLoop({ name: 'worker', model, tools: [slow.definition] });
    await using stage = await stageOf(studio.files, [loop], { clock });
    const sessionId = await stage.host.begin();
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    await page.locator('.connection-live').waitFor();
    await stage.host.submit(sessionId, 'go');
    await page.locator('.call-running').nth(1).waitFor();
    await stage.down();
    await page.locator('.connection-broken').waitFor();
    await clock.advance(1_000);
    await stage.up();
    await page.locator('.connection-live').waitFor();
    await page.getByText('All done.').nth(0).waitFor();
    expect(await page.locator('.call').count()).toBe(2);
    expect(await page.locator('.feed-step').count()).toBe(2);
    expect(await page.locator('.turn-done').count()).toBe(1);
    expect(tab.complaints).toEqual([]);
  });

  it('offers to resume a turn that its process left', TIME, async () => {
    const store = memoryStore();
    const tool = scriptedTool('look', { hangs: true });
    const left = defineLoop({
      ...{ name: 'clerk', tools: [tool.definition] },
      model: scriptedModel([{ text: 'I look.', calls: [{ tool: 'look' }] }]),
    });
    const session = await defineRig({ loops: [left], store }).open();
    const turn = session.submit('look');
    for await (const event of turn) if (event.type === 'tool.started') break;
    await session.release();
    const loop = defineLoop({
      ...{ name: 'clerk', tools: [tool.definition] },
      model: scriptedModel([{ text: 'I cannot know what I saw.' }]),
    });
    await using stage = await stageOf(studio.files, [loop], { store });
    await using tab = await studio.browser.open(stage.of(session.id));
    const { page } = tab;
    await page.getByText('The process that ran this turn is gone.').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Resume the turn' }).click();
    await page.getByText('I cannot know what I saw.').nth(0).waitFor();
    await page.getByText('taken up again').waitFor();
    await page.locator('.call-stopped').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('shows the gates of delegates with those of the turn, and leads to their sessions', TIME, async () => {
    const write = scriptedTool('write', {
      returns: 'written',
      access: () => [{ action: 'fs.write', target: 'notes.md' }],
    });
    const child = defineLoop({
      ...{ name: 'writer', tools: [write.definition] },
      model: scriptedModel([{ calls: [{ tool: 'write', input: { text: 'notes' } }] }, { text: 'They are written.' }]),
    });
    const boss = defineLoop({
      ...{ name: 'boss', tools: [delegate(child, { description: 'Writes.' })] },
      model: scriptedModel([
        { calls: [{ tool: 'writer', input: { task: 'write notes' } }] },
        { text: 'All is written.' },
      ]),
    });
    await using stage = await stageOf(studio.files, [boss]);
    const sessionId = await stage.host.begin();
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    await page.locator('.connection-live').waitFor();
    await stage.host.submit(sessionId, 'have notes written');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('All is written.').nth(0).waitFor();
    expect(await page.locator('.gate').count()).toBe(0);
    await page.locator('.call > summary').click();
    await page.getByRole('link', { name: 'its own session' }).click();
    await page.getByText('They are written.').nth(0).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('shows what models and tools write as text, and runs none of it', TIME, async () => {
    const text =
      '<img src=x onerror="document.title=1"><script>document.title=2</script> [go](javascript:document.title=3)';
    const tool = scriptedTool('look', { returns: text, summary: () => text });
    const model = scriptedModel([
      { text, reasoning: text, calls: [{ tool: 'look', input: { [text]: text } }] },
      { text },
    ]);
    await using stage = await stageOf(studio.files, [defineLoop({ name: 'clerk', model, tools: [tool.definition] })]);
    const sessionId = await stage.host.begin();
    await using tab = await studio.browser.open(stage.of(sessionId));
    await tab.page.locator('.connection-live').waitFor();
    await stage.host.submit(sessionId, text);
    await tab.page.locator('.turn-done').waitFor();
    await tab.page.locator('.call > summary').click();
    await tab.page.getByRole('group', { name: 'Result of look' }).waitFor();
    expect(await tab.page.evaluate('document.querySelectorAll("img, main script").length')).toBe(0);
    expect(await tab.page.evaluate('document.querySelectorAll("a[href^=javascript]").length')).toBe(0);
    expect(String(await tab.page.evaluate('document.title'))).toContain('looprig studio');
    expect(tab.complaints).toEqual([]);
  });

  it('has no serious fault in the dark, at 360 pixels, and says how its theme is', TIME, async () => {
    const store = memoryStore();
    const { sessionId } = await sampleSession(store, Date.now() - 120_000);
    const clock = stageClock();
    await using stage = await stageOf(studio.files, [sampleLoop(clock)], { clock, store });
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    await page.locator('.turn-interrupted').waitFor();
    const check = async (name: string): Promise<void> => {
      expect(await seriousFaults(page)).toEqual([]);
      await tab.snap(name);
    };
    await check('studio-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await check('studio-dark');
    await page.setViewportSize({ width: 360, height: 760 });
    await page.getByText('of 60.0k').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await check('studio-narrow-dark');
    await page.getByRole('link', { name: 'All sessions' }).click();
    await page.getByRole('button', { name: 'New session' }).waitFor();
    await check('studio-list-narrow-dark');
    for (const word of ['Auto', 'Light', 'Dark']) {
      await page.getByRole('button', { name: `Theme: ${word}` }).click();
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await check('studio-list-narrow');
    expect(tab.complaints).toEqual([]);
  });
});

/** What scrolling through all of the page came to, by the browser's own account. */
interface Scrolled {
  readonly frames: readonly number[];
  readonly rows: number;
  readonly moved: number;
  /** Tasks of the page of 50 ms and more. */
  readonly longTasks: readonly number[];
}

/** Scrolls a good part of a screen a frame, up to the top and down again, for so many frames. */
function scroll(page: Page, frames: number): Promise<Scrolled> {
  return page.evaluate(`(async () => {
    const feed = document.querySelector('.feed');
    const next = () => new Promise(requestAnimationFrame);
    const times = [], longTasks = [];
    new PerformanceObserver(list => longTasks.push(...list.getEntries().map(entry => entry.duration))).observe({ type: 'longtask' });
    let rows = 0, moved = 0, direction = -1;
    let last = await next();
    for (let frame = 0; frame < ${frames}; frame++) {
      const before = feed.scrollTop;
      feed.scrollTop += direction * 120;
      moved += Math.abs(feed.scrollTop - before);
      if (feed.scrollTop <= 0 || frame === ${Math.floor(frames / 2)}) direction = 1;
      const now = await next();
      times.push(now - last);
      last = now;
      rows = Math.max(rows, feed.querySelectorAll('.feed-row').length);
    }
    return { frames: times, rows, moved, longTasks };
  })()`) as Promise<Scrolled>;
}

function medianOf({ frames }: Scrolled): number {
  return frames.toSorted((a, b) => a - b)[Math.floor(frames.length / 2)]!;
}

function figuresOf(scrolled: Scrolled): object {
  const { frames, longTasks } = scrolled;
  const mean = frames.reduce((sum, ms) => sum + ms, 0) / frames.length;
  return { median: medianOf(scrolled), mean, late: frames.filter(ms => ms > 34).length, longTasks: longTasks.length };
}

describe('a session of 1,000 steps', () => {
  it('is there at once, has few of its rows in the page, and scrolls at 50 frames a second', {
    timeout: 120_000,
  }, async () => {
    const STEPS = 1_000;
    const store = memoryStore();
    const tool = scriptedTool('look', { returns: ({ at }) => `saw ${String(at)}` });
    const calls = (step: number) => [1, 2, 3].map(place => ({ tool: 'look', input: { at: `${step}.${place}` } }));
    const replies = Array.from({ length: STEPS - 1 }, (_, step) => ({
      text: `Look **${step}** over.`,
      calls: calls(step),
    }));
    const loop = defineLoop({
      ...{ name: 'walker', tools: [tool.definition], limits: { iterations: 2_000, calls: 10_000 } },
      model: scriptedModel([...replies, { text: 'Seen all.' }]),
    });
    const session = await defineRig({ loops: [loop], store }).open();
    expect(await session.run('look')).toMatchObject({ steps: STEPS });
    await session.close();
    await using stage = await stageOf(studio.files, [loop], { store });
    await using tab = await studio.browser.open(stage.of(session.id));
    const { page } = tab;
    await page.getByText('Seen all.').nth(0).waitFor();
    expect(await page.evaluate('document.querySelector(".feed-row:last-of-type").getAttribute("aria-setsize")')).toBe(
      String(STEPS + 2),
    );
    await scroll(page, 60); // what is compiled on first use is not scrolling
    // 50 frames a second are 20 ms each. Whoever measures on a machine that is busy with other things measures those: it gets more than one chance.
    const attempts: Scrolled[] = [];
    for (let attempt = 0; attempt < 5; attempt++) {
      attempts.push(await scroll(page, 300));
      if (medianOf(attempts.at(-1)!) <= 20) break;
    }
    const last = attempts.at(-1)!;
    if (process.env.LOOPRIG_SCREENSHOTS) console.log(attempts.map(figuresOf));
    await tab.snap('studio-1000');
    expect(last.rows).toBeLessThan(60);
    expect(last.moved).toBeGreaterThan(20_000);
    expect(Math.min(...attempts.map(medianOf))).toBeLessThanOrEqual(20);
    expect(await seriousFaults(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });
});
