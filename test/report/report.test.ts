/** Reports: complete, safe to open whatever stands in them, and bounded. */
import { memoryStore, SessionError, type SessionEvent } from 'looprig';
import { readSession, reportHtml, reportJson, type SessionView, viewOf } from 'looprig/report';
import { scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { open, play, saying } from '../cases/setup.ts';
import { sampleSession } from './sample-session.ts';

/** What is left of a document's text when its tags and its style are gone. */
function textOf(html: string): string {
  return html
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&quot;/g, '"')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ');
}

describe('a report', () => {
  it('of a stored session says what events of the live one say, and names its loop', async () => {
    const { store, sessionId, events } = await sampleSession();
    const stored = await readSession(store, sessionId);
    const { turns, waiting, mode } = viewOf(events);
    const withoutReasoning = (view: readonly unknown[]): unknown =>
      JSON.parse(JSON.stringify(view, (name, value) => (name === 'reasoning' ? '' : value)));
    expect(withoutReasoning(stored.turns)).toEqual(withoutReasoning(turns));
    expect([stored.waiting, stored.mode, stored.loop]).toEqual([waiting, mode, 'maintainer']);
    expect(JSON.parse(reportJson(stored))).toEqual(JSON.parse(JSON.stringify(stored)));
  });

  it('tells turns, steps, calls, waits, gates, limits and how it ended', async () => {
    const { store, sessionId } = await sampleSession();
    const text = textOf(reportHtml(await readSession(store, sessionId)));
    for (const said of [
      'Prepare the release 0.5.0',
      'Said while it worked Leave docs/legacy.md as it is, please.',
      'Iterations 3 / 10',
      'Ran at once 4 / 4',
      '14.3k tokens in (9.6k cached)',
      'waited for a slot for',
      'waited for another call for 120 ms',
      'waited for a person for 18.1 s',
      'denied: nothing in docs/ may change',
      'for the rest of the session: command.run git tag v0.5.0',
      'Arguments of a person, which the call was made with',
      '404 Not Found',
      'interrupted',
      'wrong remote',
      'unit tests 412 passed',
    ]) {
      expect(text).toContain(said);
    }
  });

  it('tells what a call said of its wants, and what each filling of a bar means', async () => {
    const description = 'charge Ada 129 EUR';
    const charge = scriptedTool('charge', { access: () => [{ action: 'money.charge', target: 'ada', description }] });
    const model = saying({ calls: [{ tool: 'charge' }] });
    const opened = await open({ model, tools: [charge], rig: { gate: { ask: true } } });
    const turn = opened.session.submit('Charge her.');
    for await (const event of turn) {
      if (event.type === 'gate.opened') await opened.session.answer(event.gateId, { decision: 'approve' });
    }
    const text = textOf(reportHtml(viewOf(opened.events)));
    expect(text).toContain('money.charge ada charge Ada 129 EUR');
    for (const said of ['runs', 'ran', 'ran and failed', 'was interrupted']) expect(text).toContain(` ${said} `);
  });

  it('sets the columns of a table as its author did', async () => {
    const text = '| article | pieces | where |\n| --- | --: | :-: |\n| lamp | 4 | a |';
    const opened = await open({ model: saying({ text }) });
    await play(opened);
    const cells = reportHtml(viewOf(opened.events)).match(/<t[hd](?: [^>]*)?>/g);
    const classes = cells?.map(tag => /class="([^"]*)"/.exec(tag)?.[1] ?? '');
    expect(classes).toEqual(['', 'align-right', 'align-center', '', 'align-right', 'align-center']);
  });

  it('of an unknown session is refused', async () => {
    await expect(readSession(memoryStore(), 'nobody')).rejects.toSatisfy(
      error => SessionError.is(error) && error.kind === 'unknown_session' && error.message.includes('"nobody"'),
    );
  });

  it('of no events, and of a turn that has only begun, is a document too', async () => {
    const { events } = await sampleSession();
    expect(reportHtml(viewOf([]))).toContain('A session without a turn');
    for (let count = 1; count < 40; count++) expect(reportHtml(viewOf(events.slice(0, count)))).toContain('</html>');
    expect(textOf(reportHtml(viewOf(events.slice(0, 1))))).toContain('running when this report was made');
  });

  it('has the title that it is given', async () => {
    const { events } = await sampleSession();
    expect(reportHtml(viewOf(events), { title: 'Release <0.5.0>' })).toContain('<title>Release &lt;0.5.0></title>');
  });
});

const HOSTILE = [
  '</style><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "'; alert(1); '",
  '</pre></details><iframe src="https://example.org">',
  '<!-- ',
  ']]>',
  '&lt;script&gt;',
  '\u0000\u202e\ud800',
];

const MARKDOWN = [
  '[a](javascript:alert(1))',
  '[b](data:text/html,<script>alert(1)</script>)',
  '![c](https://example.org/pixel.png)',
  '<script>alert(1)</script>',
  '<a href="javascript:alert(1)">d</a>',
  '[e](https://example.org/"onmouseover="alert(1))',
  '[f][g]\n\n[g]: javascript:alert(1)',
  '<javascript:alert(1)>',
  '```html\n</code></pre><script>alert(1)</script>\n```',
  `| h |\n|---|\n| <img src=x onerror=alert(1)> |`,
  `${'> '.repeat(400)}deep`,
  `${'- '.repeat(400)}deep`,
  '*'.repeat(2_000),
  '['.repeat(2_000),
];

/** Every tag with its attributes, as a parser of HTML would find them. */
function tagsOf(html: string): readonly string[] {
  return html.replace(/<style>[\s\S]*?<\/style>/, '').match(/<[a-z!/](?:"[^"]*"|[^">])*>/gi) ?? [];
}

function expectHarmless(html: string): void {
  expect(html.match(/<style>/g)?.length).toBe(1);
  const tags = tagsOf(html);
  const names = new Set(tags.map(tag => /^<(\/?[a-z0-9!]+)/i.exec(tag)?.[1]?.toLowerCase()));
  for (const name of ['script', 'iframe', 'img', 'object', 'embed', 'form', 'link', 'base']) {
    expect(names, name).not.toContain(name);
  }
  const unquoted = tags.map(tag => tag.replace(/="[^"]*"/g, ''));
  expect(unquoted.filter(tag => /\son\w+/i.test(tag) || /\sstyle/i.test(tag))).toEqual([]);
  const links = [...html.matchAll(/<a[^>]*\shref="([^"]*)"/g)].map(([, href = '']) => href);
  expect(links.filter(href => !/^(https?:\/\/|mailto:)/.test(href))).toEqual([]);
  expect(html).toContain('default-src &#39;none&#39;'.replaceAll('&#39;', "'"));
}

describe('what stands in a report', () => {
  it.each(HOSTILE)('is text: %j as name, argument, result, reason, question and answer', async text => {
    const tool = scriptedTool('tool', {
      ...{ returns: text, summary: () => text, access: () => [{ action: text || 'x', target: `${text}.` }] },
    });
    const model = saying(
      {
        text,
        calls: [
          { tool: 'tool', input: { [text]: text } },
          { tool: text, input: { list: [text] } },
        ],
      },
      { text },
    );
    const opened = await open({ model, tools: [tool], rig: { gate: { ask: true } } });
    const turn = opened.session.submit(text);
    for await (const event of turn) {
      if (event.type === 'gate.opened') await opened.session.answer(event.gateId, { decision: 'deny', reason: text });
    }
    opened.session.submit(text).interrupt(text);
    const html = reportHtml(viewOf(opened.events), { title: text });
    expectHarmless(html);
    const shown = text.replace(/\s+/g, ' ');
    if (!text.includes('&')) expect(textOf(html)).toContain(shown);
  });

  it.each(MARKDOWN)('is harmless as markdown: %j', async text => {
    const opened = await open({ model: saying({ text }) });
    await play(opened);
    expectHarmless(reportHtml(viewOf(opened.events)));
  });
});

/** One turn of so many steps, each with two calls. */
function longSession(steps: number, text: string): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  let seq = 0;
  const header = () => ({ sessionId: 's', loopId: 'l', seq: ++seq, at: seq * 10, turnId: 't' });
  const usage = { inputTokens: 9, outputTokens: 1, totalTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 };
  const finishReason = { unified: 'tool-calls' as const, raw: undefined };
  events.push({ type: 'turn.started', ...header(), input: [{ type: 'text', text: 'go' }], mode: '', limits: {} });
  for (let step = 1; step <= steps; step++) {
    const stepId = `t.${step}`;
    events.push({ type: 'step.started', ...header(), stepId, step });
    const calls = ['a', 'b'].map(name => ({ stepId, callId: `${step}${name}`, toolName: name }));
    for (const call of calls) events.push({ type: 'tool.called', ...header(), ...call, input: { text } });
    for (const call of calls) events.push({ type: 'tool.started', ...header(), ...call });
    for (const call of calls) {
      const output = { type: 'text' as const, value: text };
      events.push({
        ...{ type: 'tool.completed', ...header(), ...call, outcome: 'done', isError: false, output, durationMs: 1 },
      });
    }
    events.push({ type: 'step.done', ...header(), stepId, text: 'Next.', finishReason, usage });
  }
  return events;
}

describe('a large session', () => {
  it('gives a report of bounded size, which says what is left out', () => {
    const view: SessionView = viewOf(longSession(1_000, 'x'.repeat(100_000)));
    const html = reportHtml(view);
    expect(html.length).toBeLessThan(16_000_000);
    expect(html.length).toBeGreaterThan(2_000_000);
    expect(textOf(html)).toMatch(/99,\d+ more characters are not shown here/);
    expect(textOf(html)).toContain('Step 1000');
  });

  it('of more steps than anybody reads has the last of them', () => {
    const text = textOf(reportHtml(viewOf(longSession(2_600, 'x'))));
    expect(text).toContain('The first 600 steps are left out.');
    expect(text).not.toMatch(/Step 600 /);
    expect(text).toMatch(/Step 601 /);
    expect(text).toMatch(/Step 2600 /);
  });
});
