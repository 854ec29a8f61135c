/** The studio in Chromium: a turn is watched, answered, steered and interrupted, by pointer and by keyboard. */
import { defineLoop } from 'looprig';
import { type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { sampleLoop } from '../report/sample-session.ts';
import { seriousFaults } from './axe.ts';
import type { Page } from './services.ts';
import { studioBrowser, TIME } from './studio-browser.ts';
import { stageClock, stageOf } from './studio-stage.ts';

const studio = studioBrowser();
const PROMPT = 'Prepare the release 0.5.0: notes, tests and links. Change nothing in docs/.';
const RULES = [
  { action: 'command.run', target: 'npm *', decision: 'allow' as const },
  { action: 'fs.write', target: 'keys/**', decision: 'deny' as const },
];

/** What each row of a step's timeline says, with one space for any gap. */
async function rowsOf(page: Page, step: number): Promise<string[]> {
  const texts = await page.locator(`[aria-label="Calls of step ${step}"] summary`).allInnerTexts();
  return texts.map(text => text.replace(/\s+/g, ' ').replace(/ ,/g, ',').trim());
}

const showsRows = (page: Page, step: number, rows: readonly (string | RegExp)[]): Promise<void> =>
  expect
    .poll(() => rowsOf(page, step), { timeout: 10_000 })
    .toEqual(rows.map(row => (typeof row === 'string' ? row : expect.stringMatching(row))));

const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();

async function say(page: Page, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill(text);
  await field.press('Enter');
}

describe('a turn in the studio', () => {
  it('is watched live, approved with edited arguments, reloaded in the middle, and interrupted', TIME, async () => {
    const clock = stageClock();
    await using stage = await stageOf(studio.files, [sampleLoop(clock)], { clock, gate: { ask: true, rules: RULES } });
    await using tab = await studio.browser.open(stage.url);
    const { page } = tab;
    await page.getByText('There is no session yet.').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await press(page, 'New session');
    await page.getByText('Nothing was said yet.').waitFor();
    await say(page, PROMPT);
    await page.getByText('The model is asked').waitFor();

    await clock.advance(1_400);
    await showsRows(page, 1, [
      ...[/^git_log v0.4.2, running/, /^read_file CHANGELOG.md, running/, /^search “parseRange” in docs, running/],
      ...[
        /^fetch_page .*, running/,
        /^read_file docs.*, waits.*waiting for a slot/,
        /^search “iconv” in ., waits.*slot/,
      ],
    ]);
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-running');

    await clock.advance(5_000);
    const gates = page.getByRole('article', { name: 'write_file asks for permission' });
    await expect.poll(() => gates.count()).toBe(3);
    const settled = await rowsOf(page, 1);
    expect(settled[3]).toMatch(/^fetch_page https:\/\/example.org\/releases\/latest, failed 1\.4 s$/);
    expect(settled[4]).toMatch(/^read_file docs\/legacy.md, done, 150 ms, waited for a slot for 120 ms$/);
    await tab.snap('studio-gates');
    expect(await seriousFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-gates-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 360, height: 760 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-gates-narrow');
    await page.setViewportSize({ width: 1_280, height: 720 });

    await page.reload();
    await expect.poll(() => gates.count()).toBe(3);
    await expect.poll(() => rowsOf(page, 1)).toEqual(settled);

    const always = 'button[title="For the rest of the session: fs.write CHANGELOG.md"]';
    expect(await gates.locator(always).count()).toBe(2);
    const second = gates.nth(1);
    await second.getByRole('button', { name: 'Edit…' }).click();
    const field = second.getByLabel('Arguments to make the call with, as JSON');
    expect(JSON.parse(await field.inputValue())).toMatchObject({ path: 'CHANGELOG.md' });
    expect(await second.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await field.fill('{ "path": ');
    await second.getByRole('button', { name: 'Approve with these' }).click();
    await second.getByRole('alert').waitFor();
    expect(await second.getByRole('alert').textContent()).toContain('This is not JSON');
    await field.fill('["CHANGELOG.md"]');
    await second.getByRole('button', { name: 'Approve with these' }).click();
    await expect.poll(() => second.getByRole('alert').textContent()).toContain('Arguments must be a JSON object');
    await field.fill('{ "path": "keys/private", "text": "" }');
    await second.getByRole('button', { name: 'Approve with these' }).click();
    await expect.poll(() => second.getByRole('alert').textContent()).toContain('keys/private');
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-edit');
    await field.fill('{ "path": "CHANGELOG.md", "text": "## 0.5.0, by a person" }');
    await second.getByRole('button', { name: 'Approve with these' }).click();
    await expect.poll(() => gates.count()).toBe(2);
    await gates.nth(0).getByRole('button', { name: 'Approve', exact: true }).click();
    await expect.poll(() => gates.count()).toBe(1);
    await gates.nth(0).getByRole('button', { name: 'Deny…' }).click();
    await gates.nth(0).getByLabel('Why not? The model is told.').fill('nothing in docs/ may change');
    await gates.nth(0).getByRole('button', { name: 'Deny', exact: true }).press('Enter');
    await expect.poll(() => gates.count()).toBe(0);

    await clock.advance(300);
    await showsRows(page, 2, [
      ...[/^write_file CHANGELOG.md, done/, /^write_file CHANGELOG.md, done.*waited for another call for 120 ms$/],
      ...[/^write_file docs\/index.md, denied/, /^read_file package.json, done/, /^run npm test, running/],
    ]);
    await tab.snap('studio-batch');
    const edited = page.locator('[aria-label="Calls of step 2"] details').nth(1);
    await edited.locator('summary').click();
    await edited.getByRole('group', { name: 'Changed arguments: text' }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await press(page, 'Interrupt');
    await expect.poll(async () => (await rowsOf(page, 2)).at(-1)).toMatch(/^run npm test, interrupted/);
    await page.locator('.turn-interrupted').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('is worked with by keyboard alone', TIME, async () => {
    const clock = stageClock();
    await using stage = await stageOf(studio.files, [sampleLoop(clock)], { clock, gate: { ask: true, rules: RULES } });
    await using tab = await studio.browser.open(stage.url);
    const { page } = tab;
    const focused = (): Promise<unknown> =>
      page.evaluate(
        'document.activeElement.textContent || document.activeElement.getAttribute("aria-label") || document.activeElement.id',
      );
    /** Presses Tab until an element with this text or name has the focus. */
    const tabTo = async (name: RegExp, key = 'Tab'): Promise<void> => {
      for (let presses = 0; presses < 40; presses++) {
        if (name.test(String(await focused()))) return;
        await page.keyboard.press(key);
      }
      throw new Error(`Tab does not lead to ${name}, but to ${String(await focused())}`);
    };
    await page.getByText('There is no session yet.').waitFor();
    await tabTo(/^New session$/);
    await page.keyboard.press('Enter');
    await page.getByText('Nothing was said yet.').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    for (let presses = 0; presses < 40; presses++) {
      if ((await page.evaluate('document.activeElement.tagName')) === 'TEXTAREA') break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.type(PROMPT);
    await page.keyboard.press('Enter');
    await page.getByText('The model is asked').waitFor();
    await clock.advance(6_400);
    await page.getByRole('button', { name: 'Approve always' }).nth(2).waitFor();
    await tabTo(/^fetch_page/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Result of fetch_page' }).waitFor();
    await tabTo(/^Approve$/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('button', { name: 'Deny…' }).count()).toBe(2);
    // The focus is with the gates that are left, and on none of their answers: pressing Enter once more answers nothing.
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('gates');
    await page.keyboard.press('Enter');
    await tabTo(/^Approve always$/);
    await page.keyboard.press('Space');
    await expect.poll(() => page.getByRole('button', { name: 'Deny…' }).count()).toBe(1);
    await tabTo(/^Deny…$/);
    await page.keyboard.press('Enter');
    await tabTo(/^Deny$/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    expect(tab.complaints).toEqual([]);
  });

  it('shows what a call was asked and gave to whoever points at it or has it in focus', TIME, async () => {
    const tool = scriptedTool('look', { returns: () => 'a lamp' });
    const model = scriptedModel([{ calls: [{ tool: 'look', input: { at: 'the table' } }] }, { text: 'A lamp.' }]);
    const loop = defineLoop({ name: 'looker', model, tools: [tool.definition] });
    await using stage = await stageOf(studio.files, [loop]);
    const sessionId = await stage.host.begin();
    await stage.host.submit(sessionId, 'look');
    await using tab = await studio.browser.open(stage.of(sessionId));
    const row = tab.page.locator('.call > summary');
    await tab.page.locator('.turn-done').waitFor();
    await row.hover();
    await expect.poll(() => tab.page.locator('.peek').count()).toBe(1);
    expect((await tab.page.locator('.peek').textContent())?.replace(/\s+/g, ' ')).toContain('a lamp');
    await tab.page.keyboard.press('Escape');
    await expect.poll(() => tab.page.locator('.peek').count()).toBe(0);
    await row.focus();
    await expect.poll(() => tab.page.locator('.peek').count()).toBe(1);
    expect(tab.complaints).toEqual([]);
  });

  it('takes a word while it works, and another for the turn after it; what waits is shown', TIME, async () => {
    const clock = stageClock();
    const slow = scriptedTool('slow', { clock, sleepMs: 1_000 });
    const work: ScriptedReply = { text: 'I work.', calls: [{ tool: 'slow' }] };
    const model = scriptedModel([work, { text: 'First.' }, { text: 'Second.' }], { clock });
    const loop = defineLoop({
      name: 'worker',
      model,
      tools: [slow.definition],
      modes: { careful: {} },
      initialMode: 'careful',
    });
    await using stage = await stageOf(studio.files, [loop], { clock });
    const sessionId = await stage.host.begin();
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    const mode = page.getByLabel('Mode');
    await mode.selectOption('');
    await expect.poll(async () => (await stage.host.find(sessionId)).mode).toBe('');
    await say(page, 'go');
    await showsRows(page, 1, [/^slow, running/]);
    const field = page.getByRole('textbox', { name: 'Say something to the running turn' });
    await field.fill('be quick');
    await press(page, 'Steer');
    await page.getByText('For this turn:').nth(0).waitFor();
    await field.fill('and then?');
    await press(page, 'Queue as next');
    await page.getByText('As the next turn:').nth(0).waitFor();
    await clock.advance(1_000);
    await page.getByText('Said while it worked').waitFor();
    await page.getByText('Second.').waitFor();
    const heads = await page.locator('.feed-row .said').allInnerTexts();
    expect(heads.map(text => text.replace(/\s+/g, ' '))).toEqual([
      ...['Turn 1 go', 'Said while it worked be quick', 'Turn 2 and then?'],
    ]);
    expect(tab.complaints).toEqual([]);
  });
});
