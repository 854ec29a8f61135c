/** The agent of docs/migrate/from-ai-sdk.md, after the migration: its code is run as it stands there. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { partsOf, readPage } from './page.ts';

const root = join(import.meta.dirname, '../..');

it('the agent of the migration page looks up a price, asks, and pays once it may', async () => {
  const text = readFileSync(join(root, 'docs/migrate/from-ai-sdk.md'), 'utf8');
  const code = /^## After\n\n```ts\n(.*?)^```$/ms.exec(text)?.[1];
  const model = scriptedModel([
    { calls: [{ tool: 'price', input: { thing: 'lamp' } }] },
    { calls: [{ tool: 'pay', input: { euros: 4 } }] },
    { text: 'It is yours.' },
  ]);
  Object.assign(globalThis, { model }); // the page takes a model for granted
  mkdirSync(join(root, 'temp'), { recursive: true });
  const folder = mkdtempSync(join(root, 'temp/migration-'));
  try {
    writeFileSync(join(folder, 'after.ts'), code ?? '');
    const { POST }: { POST(request: Request): Promise<Response> } = await import(join(folder, 'after.ts'));
    const transport = new DefaultChatTransport<UIMessage>({
      api: 'http://localhost/api/chat',
      fetch: (url, init) => POST(new Request(String(url), { ...init, credentials: 'omit' })),
    });
    const send = async (messages: UIMessage[]): Promise<UIMessage> => {
      const request = { chatId: 'chat-1', messages, trigger: 'submit-message', messageId: undefined } as const;
      const last = messages.at(-1)!;
      const stream = await transport.sendMessages({ ...request, abortSignal: undefined });
      return (await readPage(stream, last.role === 'assistant' ? last : undefined)).message;
    };
    const user: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Buy a lamp.' }] };
    const asked = await send([user]);
    expect(partsOf(asked).at(-1)).toEqual(['tool-pay', 'approval-requested', { euros: 4 }, '']);
    const parts = asked.parts.map(part =>
      'approval' in part && part.state === 'approval-requested'
        ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
        : part,
    ) as UIMessage['parts'];
    expect(partsOf(await send([user, { ...asked, parts }]))).toEqual([
      ['step-start'],
      ['tool-price', 'output-available', { thing: 'lamp' }, { thing: 'lamp', euros: 4 }],
      ['step-start'],
      ['tool-pay', 'output-available', { euros: 4 }, 'paid 4 €'],
      ['step-start'],
      ['text', 'It is yours.'],
    ]);
    model.assertUsed();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    Reflect.deleteProperty(globalThis, 'model');
  }
});
