/** The list of the studio: its pages, its filter, and sessions that are deleted. */
import { defineLoop } from 'looprig';
import { scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { seriousFaults } from './axe.ts';
import { studioBrowser, TIME } from './studio-browser.ts';
import { stageOf } from './studio-stage.ts';

const studio = studioBrowser();

/** A loop that answers each input with one word. */
const clerk = () =>
  defineLoop({ name: 'clerk', model: scriptedModel(Array.from({ length: 9 }, () => ({ text: 'Yes.' }))) });

describe('the list of sessions', () => {
  it('comes a page at a time, by keyboard too, and its filter says how far it looked', TIME, async () => {
    await using stage = await stageOf(studio.files, [clerk()]);
    const oldest = await stage.host.begin();
    await stage.host.submit(oldest, 'The first of all');
    await expect.poll(async () => (await stage.host.find(oldest)).state).toBe('done');
    for (let count = 1; count < 120; count++) await stage.host.begin();
    await using tab = await studio.browser.open(stage.url);
    const { page } = tab;
    const sessions = page.locator('a.session');
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.getAttribute("href")');
    await expect.poll(() => sessions.count()).toBe(50);
    expect(await seriousFaults(page)).toEqual([]);
    const older = page.getByRole('button', { name: 'Show older sessions' });
    await older.press('Enter');
    await expect.poll(() => sessions.count()).toBe(100);
    const first = await page.evaluate('document.querySelectorAll("a.session")[50].getAttribute("href")');
    await expect.poll(focused).toBe(first);
    await tab.snap('studio-list-pages');
    await page.evaluate('document.querySelector(".sessions").scrollTop = 1e6');
    await tab.snap('studio-list-end');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 760 });
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-list-end-narrow-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1_280, height: 720 });

    const news = await stage.host.begin();
    await stage.host.submit(news, 'What is new');
    await page.getByText('What is new').waitFor();
    expect(await sessions.nth(0).textContent()).toContain('What is new');
    expect(await sessions.count()).toBe(101);

    await page.getByLabel('Filter sessions').fill('first of all');
    await page.getByText('Of the last 101 sessions, none fits the filter.').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-list-filter');
    await page.getByRole('button', { name: 'Look through older ones' }).press('Enter');
    await expect.poll(() => sessions.count()).toBe(1);
    await expect.poll(focused).toContain(oldest);
    await page.getByLabel('Filter sessions').fill('nothing of the kind');
    await page.getByText('No session fits the filter.').waitFor();
    expect(await page.getByRole('button', { name: 'older' }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  });
});

describe('a session that is deleted', () => {
  it('is asked about first, and leaves the list; the focus goes to the one behind it', TIME, async () => {
    await using stage = await stageOf(studio.files, [clerk()]);
    const ids: string[] = [];
    for (const text of ['One', 'Two', 'Three']) {
      const sessionId = await stage.host.begin();
      await stage.host.submit(sessionId, text);
      await expect.poll(async () => (await stage.host.find(sessionId)).state).toBe('done');
      ids.unshift(sessionId);
    }
    await using tab = await studio.browser.open(stage.of(ids[1]!));
    const { page } = tab;
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent');
    await page.locator('.turn-done').waitFor();
    await page.getByText('10 tokens in · 5 out').waitFor();
    const { startedAt, told, shown, title } = (await page.evaluate(`(() => {
      const time = document.querySelector('.inspector time');
      const startedAt = Date.parse(time.dateTime);
      const told = new Date(startedAt).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
      return { startedAt, told, shown: time.textContent, title: time.title };
    })()`)) as Readonly<Record<string, string | number>>;
    expect(shown).toBe(told);
    expect(title).toBe(`${new Date(Number(startedAt)).toISOString().slice(0, 19).replace('T', ' ')} UTC`);
    const ask = page.getByRole('button', { name: 'Delete…' });
    await ask.press('Enter');
    await page.getByText('Delete this session for good?').waitFor();
    expect(await focused()).toBe('Keep it');
    const look = async (name: string): Promise<void> => {
      expect(await seriousFaults(page)).toEqual([]);
      await tab.snap(name);
    };
    await look('studio-delete');
    await page.emulateMedia({ colorScheme: 'dark' });
    await look('studio-delete-dark');
    await page.setViewportSize({ width: 360, height: 760 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await look('studio-delete-narrow-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await look('studio-delete-narrow');
    await page.setViewportSize({ width: 1_280, height: 720 });
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('Delete…');
    expect(await page.getByText('Delete this session for good?').count()).toBe(0);

    await ask.press('Enter');
    await page.getByRole('button', { name: 'Delete for good' }).press('Enter');
    await page.getByText('Choose a session, or begin a new one.').waitFor();
    await expect.poll(() => page.locator('a.session').count()).toBe(2);
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("href")')).toContain(ids[2]);
    await page.getByText('The session was deleted.').waitFor();
    await expect(stage.host.find(ids[1]!)).rejects.toMatchObject({ kind: 'unknown_session' });
    expect(await seriousFaults(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  it('is not deleted while a turn is under way, which is said in a sentence', TIME, async () => {
    const tool = scriptedTool('look', { hangs: true });
    const model = scriptedModel([{ calls: [{ tool: 'look' }] }]);
    await using stage = await stageOf(studio.files, [defineLoop({ name: 'clerk', model, tools: [tool.definition] })]);
    const sessionId = await stage.host.begin();
    await stage.host.submit(sessionId, 'look');
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    await page.locator('.call-running').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete for good' }).click();
    const failure = page.getByRole('alert');
    await failure.waitFor();
    expect(await failure.textContent()).toBe(
      'It has a turn that is under way, or an input that waits for one: interrupt it first.',
    );
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Delete for good');
    await tab.snap('studio-delete-busy');
    await page.getByRole('button', { name: 'Interrupt' }).click();
    await page.locator('.turn-interrupted').waitFor();
    await page.getByRole('button', { name: 'Delete for good' }).click();
    await page.getByText('There is no session yet.').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('filter');
    expect(tab.complaints).toEqual([]);
  });

  it('says so on a page that shows it, and so does the address of one that is not there', TIME, async () => {
    await using stage = await stageOf(studio.files, [clerk()]);
    const sessionId = await stage.host.begin();
    await stage.host.submit(sessionId, 'One');
    await using tab = await studio.browser.open(stage.of(sessionId));
    const { page } = tab;
    await page.locator('.turn-done').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).focus();
    await stage.host.delete(sessionId);
    await page.getByText('This session was deleted. What you still see of it is gone once you leave.').waitFor();
    await page.getByText('Yes.').nth(0).waitFor();
    await page.getByText('There is no session yet.').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Delete…' }).count()).toBe(0);
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('gone');
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-gone');
    await page.reload();
    await page.getByText('There is no session at this address. It may have been deleted.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
    await tab.snap('studio-unknown');
    expect(tab.complaints).toEqual([]);
  });
});
