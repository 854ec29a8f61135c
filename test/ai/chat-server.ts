/** A server on loopback that answers `useChat` from one session, and a page that talks to it: AI SDK's own chat, without a browser. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  createUIMessageStreamResponse,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { GateError, type Session, SessionError } from 'looprig';
import { chatStream, toUIMessageStream } from 'looprig/ai';

/** The handler that docs/ai-sdk.md shows. */
async function respond(session: Session, request: Request): Promise<Response> {
  if (request.method === 'GET') {
    const { turn } = session;
    if (turn === undefined) return new Response(null, { status: 204 });
    return createUIMessageStreamResponse({ stream: toUIMessageStream(turn, { session }) });
  }
  try {
    return createUIMessageStreamResponse({ stream: await chatStream(session, await request.json()) });
  } catch (error) {
    if (GateError.is(error) || SessionError.is(error)) return new Response(error.message, { status: 409 });
    throw error;
  }
}

export interface ChatServer extends AsyncDisposable {
  readonly api: string;
  /** The bodies that pages sent. */
  readonly bodies: readonly unknown[];
}

/** Serves the session that `session()` gives, at the time of each request. */
export async function serveChat(session: () => Session): Promise<ChatServer> {
  const bodies: unknown[] = [];
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      if (body !== '') bodies.push(JSON.parse(body));
      const { method = 'GET', url = '/' } = incoming;
      const request = new Request(`http://localhost${url}`, { method, ...(body === '' ? {} : { body }) });
      const response = await respond(session(), request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else
        Readable.fromWeb(response.body as NodeStream)
          .on('error', () => outgoing.destroy())
          .pipe(outgoing);
    })().catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  return {
    api: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(done => server.close(done));
    },
  };
}

class PageState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

/** What `useChat` holds. Sends by itself once all approvals are answered. */
export class PageChat extends AbstractChat<UIMessage> {
  constructor(
    api: string,
    init: Pick<ChatInit<UIMessage>, 'id' | 'messages' | 'transport' | 'sendAutomaticallyWhen'> = {},
  ) {
    const { messages = [], ...rest } = init;
    super({
      id: 'chat-1',
      transport: new DefaultChatTransport({ api }),
      state: new PageState(messages),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      ...rest,
    });
  }

  get last(): UIMessage {
    return this.messages.at(-1)!;
  }

  /** The approvals that the page shows as open, in order. */
  get openApprovals(): string[] {
    return this.messages.flatMap(({ parts }) =>
      parts.flatMap(part =>
        'approval' in part && part.state === 'approval-requested' && part.approval !== undefined
          ? [part.approval.id]
          : [],
      ),
    );
  }

  /** Answers, and waits until all that follows of it has come. */
  async decide(id: string, approved: boolean, reason?: string): Promise<void> {
    await this.addToolApprovalResponse({ id, approved, ...(reason === undefined ? {} : { reason }) });
    await this.settled();
  }

  /** Waits until nothing is sent or streamed. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 5; ) {
      await new Promise(resolve => setImmediate(resolve));
      quiet = this.status === 'ready' || this.status === 'error' ? quiet + 1 : 0;
    }
  }
}
