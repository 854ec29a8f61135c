/** The page of docs/ai-sdk.md in Chromium: `useChat` against a session, over loopback. */
import { defineLoop, defineRig, memoryStore, type Rig, type Session } from 'looprig';
import { assertPaired, type ScriptedReply, type ScriptedTool, scriptedTool } from 'looprig/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, type TestBrowser } from './browser.ts';
import { chatScript, serveChatPage } from './chat-page.ts';
import { type HeldModel, heldModel } from './held-model.ts';
import type { Page } from './services.ts';

let browser: TestBrowser;
let script: string;

beforeAll(async () => {
  script = await chatScript();
  browser = await startBrowser();
}, 60_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
});

interface Bench extends HeldModel {
  readonly rig: Rig;
  readonly book: ScriptedTool;
}

/** A loop with a tool that runs at once and one that has to ask. */
function benchOf(replies: readonly ScriptedReply[], store = memoryStore()): Bench {
  const held = heldModel(replies);
  const weather = scriptedTool('weather', { returns: input => ({ city: String(input.city), degrees: 21 }) });
  const book = scriptedTool('book', {
    returns: input => `booked for ${String(input.seats)}`,
    access: input => [{ action: 'table.book', target: `${String(input.seats)} seats` }],
    summary: input => `book a table for ${String(input.seats)}`,
  });
  const tools = [weather.definition, book.definition];
  const loop = defineLoop({ name: 'waiter', model: held.model, tools });
  return { ...held, rig: defineRig({ loops: [loop], store, gate: { ask: true } }), book };
}

const look = { tool: 'weather', input: { city: 'Rome' } };
const twoSeats = { tool: 'book', input: { seats: 2 } };

async function say(page: Page, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill(text);
  await field.press('Enter');
}

const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();

/** What a person reads in each message, with one space for any gap. */
async function messagesOn(page: Page): Promise<string[]> {
  const texts = await page.locator('article').allInnerTexts();
  return texts.map(text => text.replace(/\s+/g, ' ').trim());
}

/** Waits until the page shows these messages. */
const shows = (page: Page, messages: readonly string[]): Promise<void> =>
  expect.poll(() => messagesOn(page), { timeout: 10_000 }).toEqual(messages);

const alertOn = (page: Page): Promise<string | null> => page.getByRole('alert').textContent();

describe('a page with useChat in Chromium', () => {
  it('shows an answer piece by piece, as the model gives them', async () => {
    const { rig, release } = benchOf([{ deltas: ['Rome ', 'is ', 'sunny.'] }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    await say(tab.page, 'How is Rome?');
    for (const soFar of ['Rome', 'Rome is', 'Rome is sunny.']) {
      release();
      await shows(tab.page, ['How is Rome?', soFar]);
    }
    expect(tab.complaints).toEqual([]);
  });

  it('shows a call with its input and output, asks about another, and goes on when it is approved by a click', async () => {
    const { rig, book, release, assertUsed } = benchOf([
      { text: 'I look outside.', calls: [look] },
      { text: 'It is warm.', calls: [twoSeats] },
      { text: 'Your table is outside.' },
    ]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    const { page } = tab;
    release(3);
    await say(page, 'A table for two, please.');
    const looked = 'I look outside. {"city":"Rome"} {"city":"Rome","degrees":21}';
    const asked = `${looked} It is warm. {"seats":2}`;
    await shows(page, ['A table for two, please.', `${asked} book a table for 2? Approve Deny`]);
    await tab.snap('approval');
    expect(book.count).toBe(0);
    await press(page, 'Approve');
    await shows(page, ['A table for two, please.', `${asked} "booked for 2" Your table is outside.`]);
    await tab.snap('approved');
    expect(book.count).toBe(1);
    expect(tab.complaints).toEqual([]);
    assertPaired(session.history);
    assertUsed();
  });

  it('shows that a call was denied, and the answer to that', async () => {
    const { rig, book, release } = benchOf([{ calls: [twoSeats] }, { text: 'As you like.' }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    release();
    await say(tab.page, 'A table');
    await press(tab.page, 'Deny');
    await shows(tab.page, ['A table', '{"seats":2} not permitted As you like.']);
    expect(book.count).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  it('runs each of two calls once when they are approved click by click (case 55)', async () => {
    const threeSeats = { tool: 'book', input: { seats: 3 } };
    const { rig, book, release } = benchOf([{ calls: [twoSeats, threeSeats] }, { text: 'Two tables.' }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    const { page } = tab;
    release();
    await say(page, 'Two tables');
    await shows(page, [
      'Two tables',
      '{"seats":2} book a table for 2? Approve Deny {"seats":3} book a table for 3? Approve Deny',
    ]);
    await page.locator('section').nth(1).getByRole('button', { name: 'Approve' }).click();
    await shows(page, ['Two tables', '{"seats":2} book a table for 2? Approve Deny {"seats":3}']);
    expect(book.count).toBe(0);
    await press(page, 'Approve');
    await shows(page, ['Two tables', '{"seats":2} "booked for 2" {"seats":3} "booked for 3" Two tables.']);
    expect(book.runs.map(({ input }) => input)).toEqual([{ seats: 2 }, { seats: 3 }]);
    expect(tab.complaints).toEqual([]);
    assertPaired(session.history);
  });

  it('answers a message that is sent in the place of an approval, and runs nothing (case 51)', async () => {
    const { rig, book, release } = benchOf([{ calls: [twoSeats] }, { text: 'No table then.' }, { text: 'Bye.' }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    const { page } = tab;
    release(2);
    await say(page, 'A table');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await say(page, 'Never mind');
    const left = '{"seats":2} book a table for 2? Approve Deny';
    await shows(page, ['A table', left, 'Never mind', 'No table then.']);
    await page.reload();
    await shows(page, ['A table', expect.stringContaining('permission denied'), 'Never mind', 'No table then.']);
    await say(page, 'Bye');
    await expect.poll(async () => (await messagesOn(page)).at(-1), { timeout: 10_000 }).toBe('Bye.');
    expect(book.count).toBe(0);
    expect(tab.complaints).toEqual([]);
    assertPaired(session.history);
  });

  it('shows everything again when it is loaded while an approval waits, and goes on', async () => {
    const { rig, book, release } = benchOf([
      { text: 'Hello.' },
      { text: 'Soon.', calls: [twoSeats] },
      { text: 'Done.' },
    ]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    const { page } = tab;
    release(3);
    await say(page, 'Hi');
    await shows(page, ['Hi', 'Hello.']);
    await say(page, 'A table');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.reload();
    // The arguments that the model wrote were streamed to the page that was there before: the text and the question say enough.
    await shows(page, ['Hi', 'Hello.', 'A table', 'Soon. {} book a table for 2? Approve Deny']);
    await press(page, 'Approve');
    const after = ['Hi', 'Hello.', 'A table', 'Soon. {"seats":2} "booked for 2" Done.'];
    await shows(page, after);
    expect(book.count).toBe(1);
    await page.reload();
    await shows(page, after);
    expect(tab.complaints).toEqual([]);
    assertPaired(session.history);
  });

  it('reads on when it is loaded in the middle of a text', async () => {
    const { rig, release } = benchOf([{ deltas: ['One, ', 'two, ', 'three.'] }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    await say(tab.page, 'Count');
    release();
    await shows(tab.page, ['Count', 'One,']);
    await tab.page.reload();
    await expect.poll(() => server.asked.at(-1), { timeout: 10_000 }).toBe(`GET /api/chat/${session.id}/stream`);
    release(2);
    await shows(tab.page, ['Count', 'One, two, three.']);
    expect(tab.complaints).toEqual([]);
  });

  it('has its approval taken by the process that comes after the one that asked', async () => {
    const store = memoryStore();
    const first = benchOf([{ calls: [twoSeats] }], store);
    let session: Session = await first.rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    await say(tab.page, 'A table');
    await tab.page.getByRole('button', { name: 'Approve' }).waitFor();
    const second = benchOf([{ text: 'Done.' }], store);
    session = await second.rig.open({ sessionId: session.id });
    second.release();
    await press(tab.page, 'Approve');
    await shows(tab.page, ['A table', '{"seats":2} "booked for 2" Done.']);
    expect([first.book.count, second.book.count]).toEqual([0, 1]);
    expect(tab.complaints).toEqual([]);
  });

  it('says by its kind what went wrong, keeps what the provider said to itself, and goes on when asked again', async () => {
    const broken = Object.assign(new Error('key sk-123 is not valid'), { isRetryable: false });
    const { rig, release } = benchOf([{ error: broken }, { text: 'Now it works.' }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using tab = await browser.open(server.url);
    await say(tab.page, 'Hi');
    expect(await alertOn(tab.page)).toMatch(/^The answer could not be finished \(\w+\)\. Again$/);
    await tab.snap('error');
    expect(await tab.page.evaluate('document.documentElement.innerHTML')).not.toContain('sk-123');
    release();
    await press(tab.page, 'Again');
    await shows(tab.page, ['Hi', 'Now it works.']);
    expect(await tab.page.getByRole('alert').count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  it('says that an approval comes too late when another page has given it', async () => {
    const { rig, book, release } = benchOf([{ calls: [twoSeats] }, { text: 'Done.' }]);
    const session = await rig.open();
    await using server = await serveChatPage(script, () => session);
    await using one = await browser.open(server.url);
    await say(one.page, 'A table');
    await one.page.getByRole('button', { name: 'Approve' }).waitFor();
    await using two = await browser.open(server.url);
    await two.page.getByRole('button', { name: 'Deny' }).waitFor();
    release();
    await press(one.page, 'Approve');
    await shows(one.page, ['A table', '{"seats":2} "booked for 2" Done.']);
    await press(two.page, 'Deny');
    expect(await alertOn(two.page)).toContain('is decided already');
    expect(book.count).toBe(1);
    expect([...one.complaints, ...two.complaints]).toEqual([]);
  });
});
