/** Requests drawn at random, most of them nonsense: each is answered as the description says, and none fails the server. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROUTES } from '../../src/server/server.ts';
import { type Client, direct, hostOf, type Served } from './setup.ts';

let served: Served;
let client: Client;
let sessionId: string;
const failures: unknown[] = [];

beforeAll(async () => {
  served = hostOf([]);
  ({ client } = await direct(served.host, {
    bodyBytes: 10_000,
    maxStreams: 5,
    onError: error => void failures.push(error),
  }));
  sessionId = await client.begin();
});
afterAll(() => served?.host.close());

const id = fc.oneof(
  fc.constant('own'),
  fc.constantFrom('none', '__proto__', 'constructor', '%00', '..', '%2e%2e', 'a%2fb', '0'),
  fc.string({ maxLength: 12 }).map(encodeURIComponent),
);
const name = fc.constantFrom(
  'input',
  'limits',
  'mode',
  'loop',
  'decision',
  'rules',
  'reason',
  'turnId',
  'id',
  'messages',
  'x',
);
const word = fc.constantFrom('approve', 'edit', 'deny', 'quick', 'text', 'user', '', ' ', 'x');
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(word, fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 4 }),
  ),
})).any;

const request = fc.record({
  route: fc.constantFrom(...ROUTES.filter(({ isStream, method }) => isStream !== true || method === 'POST')),
  method: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH') },
  ),
  ids: fc.array(id, { minLength: 3, maxLength: 3 }),
  query: fc.oneof(
    fc.constant(''),
    fc.constantFrom('?limit=3', '?limit=x', '?after=1', '?a=b&a=c', '?%', '?__proto__=1'),
  ),
  body: fc.oneof(
    value.map(any => JSON.stringify(any)),
    fc.string({ maxLength: 30 }),
  ),
  headers: fc.dictionary(
    fc.constantFrom(
      'accept',
      'idempotency-key',
      'last-event-id',
      'content-encoding',
      'authorization',
      'origin',
      'x-other',
    ),
    fc.oneof(
      fc.constantFrom('*/*', 'text/html', '1', 'identity', 'null', 'application/json'),
      fc.stringMatching(/^[!-~]{0,12}$/),
    ),
    { maxKeys: 2 },
  ),
});

it('every request is answered with what its route may say, and nothing breaks', { timeout: 60_000 }, async () => {
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(request, async ({ route, method = route.method, ids, query, body, headers }) => {
      let index = 0;
      const path = route.path.replace(/\{\w+\}/g, () => {
        const drawn = ids[index++] ?? 'none';
        return drawn === 'own' ? sessionId : drawn || 'none';
      });
      const sent = method === 'GET' ? undefined : body;
      const answered = await client.ask(method, `${path}${query}`, sent, headers); // held against the description
      statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
      expect(answered.status).not.toBe(500);
      if (answered.status >= 400) expect(answered.body.error.message).not.toMatch(/\n|undefined|\[object/);
    }),
    { numRuns: 1_500 },
  );
  expect(failures).toEqual([]);
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 404, 405, 406, 422]));
});
