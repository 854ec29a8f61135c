/** A server on loopback with the files of a page, and whatever it answers itself. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';

export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Method and path of each request, in order. */
  readonly asked: readonly string[];
}

/** What stands at a path: an HTML page or a script, as text. */
export type Files = Readonly<Record<string, string>>;

/** Serves `files`, and hands every other request to `respond`. */
export async function servePage(
  files: Files,
  respond: (request: Request) => Promise<Response> = async () => new Response(null, { status: 404 }),
): Promise<PageServer> {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/' } = incoming;
    asked.push(`${method} ${url}`);
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const request = new Request(`http://localhost${url}`, { method, ...(body === '' ? {} : { body }) });
      const response = fileResponse(files, url) ?? (await respond(request));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.flushHeaders();
      if (response.body === null) outgoing.end();
      else {
        const readable = Readable.fromWeb(response.body as NodeStream);
        outgoing.on('close', () => readable.destroy()); // the page went away: nobody reads on
        readable.on('error', () => outgoing.destroy()).pipe(outgoing);
      }
    })().catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(done => server.close(done));
    },
  };
}

function fileResponse(files: Files, path: string): Response | undefined {
  if (path === '/favicon.ico') return new Response(null, { status: 204 });
  const text = files[path];
  if (text === undefined) return undefined;
  const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
  return new Response(text, { headers: { 'content-type': `${type}; charset=utf-8` } });
}
