/** `examples/web-chat`: its server over HTTP, and its page in Chromium. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startExample } from '../support/example.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

interface Example extends AsyncDisposable {
  readonly url: string;
}

/** The example with its own page, on a free port. */
async function start(): Promise<Example> {
  const child = startExample('web-chat/server.ts');
  const [said] = await once(child.stdout.setEncoding('utf8'), 'data');
  return {
    url: String(said).trim(),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    },
  };
}

let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);

afterAll(() => browser?.[Symbol.asyncDispose]());

describe('the example of a web chat', () => {
  it('answers a page over HTTP, and waits where it must ask', async () => {
    await using example = await start();
    const post = (path: string, body: object): Promise<Response> => {
      const headers = { 'content-type': 'application/json' };
      return fetch(`${example.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    };
    const { sessionId: id } = await (await post('/v1/sessions', {})).json();
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'A table, please.' }] }];
    const told = await (await post('/v1/chat', { id, messages, trigger: 'submit-message' })).text();
    expect(told).toContain('"tables":["by the window","in the yard"]');
    expect(told).toContain('book the table in the yard for Friday');
    expect(told).not.toContain('booked: ');
  });

  it('has its page ask before it books, also when the page is loaded again', async () => {
    await using example = await start();
    await using tab = await browser.open(example.url);
    const { page } = tab;
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('A table on Friday, please.');
    await field.press('Enter');
    await page.getByText('May I book the table in the yard for Friday?').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByText('The table in the yard is yours.').waitFor();
    await field.fill('And another one.');
    await field.press('Enter');
    await page.getByRole('button', { name: 'No' }).click();
    await page.getByText('Then I book nothing.').waitFor();
    expect(tab.complaints).toEqual([]);
  });
});
