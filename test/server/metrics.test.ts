/** What `/metrics` says. */
import { expect, it } from 'vitest';
import { direct, hostOf, isTurnEnd, messagesOf, readUntil } from './setup.ts';

const SECRET = 'a-very-secret-word';

it('the figures are of what happened, in Prometheus’ format, and hold no content', async () => {
  const gated = { calls: [{ tool: 'write', input: { path: SECRET, text: SECRET } }] };
  await using served = hostOf([
    { text: SECRET, calls: [{ tool: 'look', input: { at: SECRET } }] },
    { text: SECRET },
    gated,
  ]);
  const { client } = await direct(served.host, { metrics: served.metrics });
  const id = await client.begin();
  const figures = async () => {
    const { body } = await client.ask('GET', '/metrics');
    expect(body).not.toContain(SECRET);
    expect(body).not.toContain(id);
    const lines = (body as string).trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? \d+)$/);
    return new Map(
      lines.filter(line => !line.startsWith('#')).map(line => line.split(/ (?=\d+$)/) as [string, string]),
    );
  };
  expect((await figures()).get('looprig_turns_running')).toBeUndefined();
  await client.ask('GET', '/nowhere');
  await client.ask('GET', '/v1/loops', undefined, { origin: 'https://evil.test' });
  expect(Object.fromEntries(await figures())).toMatchObject({
    'looprig_http_requests_total{route="none",status="404"}': '1',
    'looprig_http_requests_total{route="refused",status="403"}': '1',
  });
  const stream = messagesOf(await client.raw('GET', `/v1/sessions/${id}/events`));
  await client.ask('POST', `/v1/sessions/${id}/turns`, { input: SECRET });
  await readUntil(stream, isTurnEnd);
  expect(Object.fromEntries(await figures())).toMatchObject({
    looprig_streams_open: '1',
    looprig_sessions_begun_total: '1',
    looprig_sessions_active: '0',
    looprig_turns_running: '0',
    'looprig_turns_total{outcome="done"}': '1',
    looprig_steps_total: '2',
    'looprig_calls_total{outcome="done"}': '1',
    'looprig_http_requests_total{route="/v1/sessions/{session}/turns",status="202"}': '1',
  });
  await client.ask('POST', `/v1/sessions/${id}/turns`, { input: SECRET });
  const read = await readUntil(stream, ({ data }) => data?.type === 'gate.opened');
  expect(Object.fromEntries(await figures())).toMatchObject({
    ...{ looprig_turns_waiting: '1', looprig_turns_running: '0', looprig_sessions_active: '1' },
    looprig_gates_opened_total: '1',
  });
  const { gateId } = read.at(-1)!.data;
  await client.ask('POST', `/v1/sessions/${id}/gates/${gateId}`, { decision: 'deny' });
  await readUntil(stream, isTurnEnd); // the script has no reply any more
  await stream.return(undefined);
  expect(Object.fromEntries(await figures())).toMatchObject({
    'looprig_turns_total{outcome="failed"}': '1',
    'looprig_errors_total{kind="request_failed"}': '1',
    'looprig_calls_total{outcome="denied"}': '1',
  });
});
