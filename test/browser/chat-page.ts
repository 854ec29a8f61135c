/** The page of docs/ai-sdk.md, and the server that the document describes. */
import { readFileSync } from 'node:fs';
import { createUIMessageStreamResponse } from 'ai';
import { GateError, type Session, SessionError } from 'looprig';
import { chatStream, toUIMessageStream, toUIMessages } from 'looprig/ai';
import { bundleReact } from './bundle.ts';
import { type PageServer, servePage } from './server.ts';

const HTML = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>Chat</title>
  <style>
    main { max-width: 40rem; margin: 1rem auto; font: 16px sans-serif }
    article { padding: 0.25rem 1rem; margin: 0.5rem 0; border-radius: 0.5rem; background: #eef }
    article.user { background: #efe }
    section { border-left: 3px solid #88a; padding-left: 0.75rem; margin: 0.5rem 0 }
    section::before { content: attr(aria-label) ' '; font-weight: bold }
    section output { display: block }
    [role="alert"] { color: #a00 }
  </style>
  <div id="chat"></div>
  <script type="module" src="/page.js"></script>
</html>`;

/** The page's script, from the document. */
export async function chatScript(): Promise<string> {
  const document = readFileSync(new URL('../../docs/ai-sdk.md', import.meta.url), 'utf8');
  const section = document.slice(document.indexOf('\n## In a page\n'));
  const source = /^```tsx\n(.*?)^```$/ms.exec(section)?.[1];
  if (source === undefined) throw new Error('docs/ai-sdk.md has no page in its section "In a page"');
  return (await bundleReact(source)).code;
}

/** Serves the page, and the session that `session()` gives at the time of each request. */
export function serveChatPage(script: string, session: () => Session): Promise<PageServer> {
  return servePage({ '/': HTML, '/page.js': script }, request => respond(session(), request));
}

async function respond(session: Session, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === 'POST') return post(session, request);
  if (pathname === '/api/chat') {
    return Response.json({ id: session.id, messages: toUIMessages(session.history) });
  }
  if (pathname !== `/api/chat/${session.id}/stream`) return new Response(null, { status: 404 });
  const { turn } = session;
  if (turn === undefined) return new Response(null, { status: 204 });
  return createUIMessageStreamResponse({ stream: toUIMessageStream(turn, { session }) });
}

async function post(session: Session, request: Request): Promise<Response> {
  try {
    return createUIMessageStreamResponse({ stream: await chatStream(session, await request.json()) });
  } catch (error) {
    if (GateError.is(error) || SessionError.is(error)) return new Response(error.message, { status: 409 });
    throw error;
  }
}
