/** The loop that anybody writes by hand: call the model, `Promise.all` over checked calls, push. No limit, no event, no id, no journal. */
import { z } from 'zod';
import type { Driver, Job, Outcome } from '../driver.ts';
import { idsOf, modelV4 } from '../model-v4.ts';

type Model = ReturnType<typeof modelV4>;
type Message = { role: string; content: unknown[] };

const schema = z.object({ n: z.number() });

interface Row {
  append(message: Message): void;
  close(): void;
}

async function openRows({ store }: Job): Promise<Row | undefined> {
  if (store === undefined) return undefined;
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(store.file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${store.synchronous}`);
  database.exec('CREATE TABLE IF NOT EXISTS step (id INTEGER PRIMARY KEY, text TEXT)');
  const insert = database.prepare('INSERT INTO step (text) VALUES (?)');
  return { append: message => void insert.run(JSON.stringify(message)), close: () => database.close() };
}

async function respond(
  model: Model,
  prompt: Message[],
  stream: boolean,
): Promise<{ content: unknown[]; deltas: number }> {
  if (!stream) return { content: (await model.doGenerate({ prompt })).content, deltas: 0 };
  const content: unknown[] = [];
  let text = '';
  let deltas = 0;
  const reader = (await model.doStream({ prompt })).stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (next.value.type === 'tool-call') content.push(next.value);
    if (next.value.type === 'text-delta') {
      text += next.value.delta;
      deltas += 1;
    }
  }
  if (text !== '') content.push({ type: 'text', text });
  return { content, deltas };
}

async function loop(job: Job, model: Model, rows: Row | undefined): Promise<Outcome> {
  const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
  for (;;) {
    const { content, deltas } = await respond(model, messages, job.stream);
    messages.push({ role: 'assistant', content });
    const calls = (content as { type: string; toolCallId: string; input: string }[]).filter(
      part => part.type === 'tool-call',
    );
    if (calls.length === 0) return { ended: 'answer', deltas, history: () => idsOf(messages) };
    const results = await Promise.all(
      calls.map(async ({ toolCallId, input }) => {
        const { n } = schema.parse(JSON.parse(input));
        return { type: 'tool-result', toolCallId, output: { type: 'text', value: await job.tool(n) } };
      }),
    );
    const message = { role: 'tool', content: results };
    messages.push(message);
    rows?.append(message);
  }
}

export const driver: Driver = {
  cannot: {
    limit: 'the bare loop has no limit',
    abort: 'the bare loop takes no signal',
    crash: 'nothing reads the rows again',
  },
  async define(job) {
    const rows = await openRows(job);
    const model = modelV4(job);
    return { open: () => () => loop(job, model, rows), close: () => rows?.close() };
  },
};
