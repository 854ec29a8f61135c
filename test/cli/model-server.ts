/** A server that speaks the chat completions protocol and says what a test tells it to, for programs that run as child processes. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call that the model asks for. */
interface ServedCall {
  readonly name: string;
  readonly input: unknown;
}

/** One response of the server. */
export interface ServedReply {
  /** The text, in the pieces in which it is sent. */
  readonly text?: readonly string[];
  readonly calls?: readonly ServedCall[];
  /** Waits this long before each piece. */
  readonly delayMs?: number;
  /** Sends the text and then nothing more. */
  readonly hangs?: boolean;
  /** Answers with this status and body in the place of a response. */
  readonly failure?: { readonly status: number; readonly body: unknown };
}

/** A running server. */
export interface ModelServer extends AsyncDisposable {
  /** Where the API is. */
  readonly url: string;
  /** The value for `--model`. */
  readonly model: string;
  /** The bodies of the requests, and the header that carried the key. */
  readonly requests: readonly { readonly body: unknown; readonly authorization: string | undefined }[];
}

/** Starts a server that gives the i-th reply to the i-th request, and the last one to all after it. */
export async function serveModel(replies: readonly ServedReply[]): Promise<ModelServer> {
  const requests: { body: unknown; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const reply = replies[requests.length] ?? replies.at(-1) ?? {};
    const entry = { body: undefined as unknown, authorization: request.headers.authorization };
    requests.push(entry);
    answer(request, response, reply, entry).catch(() => response.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    ...{ url, requests },
    model: `compatible:${url}#served`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  reply: ServedReply,
  entry: { body: unknown },
): Promise<void> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  entry.body = JSON.parse(body);
  if (reply.failure !== undefined) {
    response.writeHead(reply.failure.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply.failure.body));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const delta of deltas(reply)) {
    if (reply.delayMs !== undefined) await new Promise(resolve => setTimeout(resolve, reply.delayMs));
    response.write(chunk({ delta, finish_reason: null }));
  }
  if (reply.hangs === true) return;
  const finish = reply.calls === undefined ? 'stop' : 'tool_calls';
  response.write(
    chunk({ delta: {}, finish_reason: finish }, { prompt_tokens: 700, completion_tokens: 80, total_tokens: 780 }),
  );
  response.end('data: [DONE]\n\n');
}

function deltas({ text = [], calls = [] }: ServedReply): object[] {
  const asked = calls.map(({ name, input }, index) => ({
    tool_calls: [
      { index, id: `call-${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } },
    ],
  }));
  return [{ role: 'assistant', content: '' }, ...text.map(content => ({ content })), ...asked];
}

function chunk(choice: object, usage?: object): string {
  const said = usage === undefined ? {} : { usage };
  return `data: ${JSON.stringify({ id: 'served', object: 'chat.completion.chunk', created: 0, model: 'served', choices: [{ index: 0, ...choice }], ...said })}\n\n`;
}
