/** The list of the studio: its pages, its filter, and sessions that are deleted. */
import { defineLoop } from 'looprig';
import { scriptedModel } from 'looprig/testing';
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
