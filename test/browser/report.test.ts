/** A report in Chromium: it asks for nothing, runs nothing, and can be read by everybody. */
import { reportHtml, viewOf } from 'looprig/report';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { open, play, saying } from '../cases/setup.ts';
import { sampleSession } from '../report/sample-session.ts';
import { seriousFaults } from './axe.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { servePage } from './server.ts';

let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);

afterAll(() => browser?.[Symbol.asyncDispose]());

it('a report has no serious fault, light, dark and printed, wide and narrow, and shows a call when it is opened by keyboard', async () => {
  await using server = await servePage({ '/': reportHtml(viewOf((await sampleSession()).events)) });
  await using tab = await browser.open(server.url);
  const { page } = tab;
  await page.setViewportSize({ width: 1_000, height: 720 });
  expect(await seriousFaults(page)).toEqual([]);
  await tab.snap('report-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await seriousFaults(page)).toEqual([]);
  await tab.snap('report-dark');
  await page.emulateMedia({ media: 'print' });
  expect(await seriousFaults(page)).toEqual([]);
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 900 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await tab.snap('report-narrow');
  await page.evaluate("document.querySelector('.call-failed > summary').focus()");
  await page.keyboard.press('Enter');
  await page.locator('.call-failed[open]').getByRole('group', { name: 'Result of fetch_page' }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect(server.asked.filter(asked => asked !== 'GET /favicon.ico')).toEqual(['GET /']);
  expect(tab.complaints).toEqual([]);
});

it('what a model wrote runs nothing and asks for nothing, even if it were no text', async () => {
  const text = '<img src="https://example.org/a.png"><script>document.title = "run"</script>';
  const opened = await open({ model: saying({ text }) });
  await play(opened, text);
  const html = reportHtml(viewOf(opened.events), { title: 'mine' });
  const injected = html.replace('<main>', `<main>${text}`);
  await using server = await servePage({ '/': html, '/injected': injected });
  for (const path of ['', 'injected']) {
    await using tab = await browser.open(`${server.url}${path}`);
    expect(await tab.page.evaluate('document.title')).toBe('mine');
    // What is refused is said in the console; nothing was asked for.
    expect(tab.complaints.filter(complaint => complaint.startsWith('a request'))).toEqual([]);
    if (path === '') expect(tab.complaints).toEqual([]);
  }
});
