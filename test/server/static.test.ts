/** The page at `/`, and the files beside it. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { studioFiles } from '../../src/server/node/studio.ts';
import { Client, hostOf, type Served, serve } from './setup.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const files = new Map([
  ['index.html', bytes('<!doctype html><script type="module" src="/assets/index-4f2a9c1b.js"></script>')],
  ['assets/index-4f2a9c1b.js', bytes('document.title = "studio";')],
  ['assets/plain.css', bytes('body { margin: 0 }')],
  ['icon.svg', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['notes.exe', bytes('MZ')],
]);
const token = 'a-token-of-the-test-0123456789';

let served: Served;
let server: Awaited<ReturnType<typeof serve>>;
let bare: Client;

beforeAll(async () => {
  served = hostOf([]);
  server = await serve(served.host, { files, token });
  bare = new Client(server.url);
});

afterAll(async () => {
  await server?.listening.close({ graceMs: 0 });
  await served?.host.close();
});

describe('the page', () => {
  it('is given without the token, and may run nothing but its own files', async () => {
    const page = await bare.raw('GET', '/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    const policy = page.headers.get('content-security-policy')?.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        ...["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"],
        ...["base-uri 'none'", "form-action 'none'"],
      ]),
    );
    expect(policy?.join()).not.toMatch(/unsafe|\*|https?:/);
    expect(await page.text()).toContain('<!doctype html>');
  });

  it('has its files under their types; those with a hash in their name are kept for ever', async () => {
    const script = await bare.raw('GET', '/assets/index-4f2a9c1b.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const style = await bare.raw('GET', '/assets/plain.css');
    expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(style.headers.get('cache-control')).toBe('no-cache');
    expect((await bare.raw('GET', '/icon.svg')).headers.get('content-type')).toBe('image/svg+xml');
  });

  it('is not sent again to whoever has it', async () => {
    const etag = (await bare.raw('GET', '/')).headers.get('etag')!;
    const again = await bare.raw('GET', '/', undefined, { 'if-none-match': etag });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
    const head = await bare.raw('HEAD', '/');
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String(files.get('index.html')?.byteLength));
  });

  it('takes no other method, and is nothing for a foreign name', async () => {
    expect((await server.client.ask('POST', '/', {})).status).toBe(404);
    expect((await bare.raw('GET', '/', undefined, { origin: 'https://evil.test' })).status).toBe(403);
  });
});

describe('tricks with paths', () => {
  it('lead to no file', async () => {
    const tricks = [
      ...[
        '/../package.json',
        '/..%2fpackage.json',
        '/%2e%2e/package.json',
        '/assets/../../package.json',
        '/.%2e/etc/passwd',
      ],
      ...['//etc/passwd', '/assets/', '/assets', '/assets//plain.css', '/index.html/', '/index.html%00', '/INDEX.HTML'],
      ...['/assets%2fplain.css', '/assets/plain.css%20', '/./secret', '/file:///etc/passwd', '/%5c..%5cpackage.json'],
      ...['/constructor', '/__proto__', '/toString', '/notes.exe', '/src/index.ts'],
    ];
    for (const path of tricks) {
      const { status, body } = await server.client.ask('GET', path);
      expect({ path, status, kind: body.error?.kind }).toEqual({ path, status: 404, kind: 'unknown_route' });
      expect((await bare.raw('GET', path)).status).toBe(401);
    }
  });
});

describe('the files of the studio', () => {
  it('are all of the folder, by their paths in it, but maps', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'looprig-studio-'));
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), 'page');
    writeFileSync(join(folder, 'assets/a.js'), 'script');
    writeFileSync(join(folder, 'assets/a.js.map'), '{}');
    const read = await studioFiles(pathToFileURL(`${folder}/`));
    expect([...read].map(([path, content]) => [path, new TextDecoder().decode(content)]).sort()).toEqual([
      ['assets/a.js', 'script'],
      ['index.html', 'page'],
    ]);
  });

  it('are none where they are not built, and the server serves', async () => {
    expect((await studioFiles(new URL('file:///nowhere/at/all/'))).size).toBe(0);
    await using other = await serve(served.host, { files: new Map() });
    expect(await other.client.ask('GET', '/')).toMatchObject({ status: 404 });
    expect(await other.client.ask('GET', '/healthz')).toMatchObject({ status: 200 });
  });
});
