import { describe, expect, it } from 'vitest';
import { engineFromUrl } from './engine-url.ts';

describe('engineFromUrl', () => {
  it.each([
    'restate://127.0.0.1:8080',
    'restate://host:8080?admin=http://host:9070&listen=9080&host=0.0.0.0&url=http://balancer:9080&share&namespace=shop&tls',
    'pg-boss://somebody:open-sesame@host:5432/database',
    'pg-boss://host/database?schema=jobs&queue=shop&concurrency=5&connections=4&sslmode=require',
  ])('makes an engine of %s', async text => {
    const engine = await engineFromUrl(text);
    expect(Object.keys(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(engine)))).toContain('serve');
  });

  it.each([
    [
      'nonsense',
      'an engine is written as restate://HOST:PORT?admin=URL&listen=PORT or pg-boss://USER:PASSWORD@HOST/DATABASE, not as what is no URL',
    ],
    ['redis://somebody:open-sesame@host', 'not as "redis://…"'],
    ['restate://host:8080?ports=1', 'a restate:// URL has no "ports"'],
    ['restate://host:8080?listen=many', '"worker.port" of restate must be a port, not NaN'],
    ['pg-boss://host/database?concurrency=many', '"concurrency" of pgBoss must be a whole number from 1, not NaN'],
  ])('refuses %s', async (text, message) => {
    await expect(engineFromUrl(text)).rejects.toThrow(message);
    await expect(engineFromUrl(text)).rejects.toMatchObject({ kind: 'invalid_option' });
  });
});
