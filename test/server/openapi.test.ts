/** What the server says of itself is what it does. */
import { readFileSync } from 'node:fs';
import { type Schema, Validator } from '@cfworker/json-schema';
import { EVENT_DURABILITY } from 'looprig';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/server/server.ts';
import { type Description, description } from './conform.ts';
import { direct, hostOf } from './setup.ts';

const named = ROUTES.map(({ method, path }) => `${method} ${path}`).sort();

describe('the description', () => {
  it('is what every answer in these tests is held against', async () => {
    await using served = hostOf([]);
    const { client } = await direct(served.host);
    expect((await client.ask('GET', '/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(description)));
  });

  it('has every route that is answered, and answers every route that it has', async () => {
    const paths = Object.entries(description.paths);
    const told = paths.flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
    );
    expect(told.sort()).toEqual(named);
    await using served = hostOf([]);
    const { client } = await direct(served.host);
    for (const { method, path } of ROUTES) {
      const body = method === 'GET' ? undefined : 'no JSON';
      const { status, body: answered } = await client.ask(method, path.replace(/\{\w+\}/g, 'none'), body);
      expect({ path, status, kind: answered.error?.kind }).not.toMatchObject({ kind: 'unknown_route' });
      expect({ path, status }).not.toMatchObject({ status: 405 });
    }
  });

  it('says who needs a token where there is one', async () => {
    await using served = hostOf([]);
    const { client } = await direct(served.host, { token: 'a-token-of-the-test-0123456789' });
    const { body } = await client.ask('GET', '/openapi.json');
    expect(body.components.securitySchemes).toEqual({ token: { type: 'http', scheme: 'bearer' } });
    const open = ROUTES.filter(({ isOpen }) => isOpen === true).map(({ path }) => path);
    for (const [path, methods] of Object.entries((body as Description).paths)) {
      for (const operation of Object.values(methods)) {
        expect(Reflect.get(operation, 'security')).toEqual(open.includes(path) ? [] : [{ token: [] }]);
      }
    }
  });

  it('has schemas that can be used, each operation a name of its own, and refers to nothing that is not there', () => {
    const text = JSON.stringify(description);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name);
    expect(references.length).toBeGreaterThan(20);
    expect(references.filter(name => !(name in description.components.schemas))).toEqual([]);
    for (const name of Object.keys(description.components.schemas)) {
      const whole = { $ref: `#/components/schemas/${name}`, components: description.components };
      expect(() => new Validator(structuredClone(whole) as unknown as Schema, '2020-12').validate({})).not.toThrow();
    }
    const ids = ROUTES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has every event', () => {
    const { oneOf } = description.components.schemas.Event as { oneOf: readonly { title: string }[] };
    expect(oneOf.map(({ title }) => title).sort()).toEqual(Object.keys(EVENT_DURABILITY).sort());
  });
});

describe('docs/server.md', () => {
  const text = readFileSync(new URL('../../docs/server.md', import.meta.url), 'utf8');

  it('has every route in its table, and no other', () => {
    const rows = [...text.matchAll(/^\| ((?:`(?:GET|POST|PUT|DELETE) [^`]+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) =>
      cell.split(', '),
    );
    const told = rows.map(cell =>
      cell
        .replaceAll('`', '')
        .replace(/\?.*$/, '')
        .replace(/:(\w+)/g, '{$1}'),
    );
    expect(told.sort()).toEqual(named);
  });

  it('has the kinds of its errors under their statuses', () => {
    const rows = [...text.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)];
    const statuses = new Map(rows.map(([, status = '', kinds = '']) => [status, kinds]));
    const answered = new Set(
      Object.values(description.paths).flatMap(methods => {
        return Object.values(methods).flatMap(({ responses }) => Object.keys(responses));
      }),
    );
    const errors = [...answered].filter(status => Number(status) >= 400);
    expect([...errors, '405'].sort()).toEqual([...statuses.keys()].sort());
  });
});
