/** The two servers that are measured, each in a process of its own: looprig's, and one of Hono alone that sends the same events to the same streams. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { defineLoop, defineRig, defineTool, type SessionEvent } from 'looprig';
import { createHost } from 'looprig/engines';
import { listen } from 'looprig/server';
import { forever, scriptedModel } from 'looprig/testing';

/** What a child is told: which server it is, and how large a turn. */
export interface ChildOrder {
  readonly server: 'looprig' | 'bare';
  readonly steps: number;
  readonly callsPerStep: number;
  readonly deltas: number;
  /** For the bare server: the events of one turn, as looprig told them. */
  readonly events: readonly SessionEvent[];
}

/** What a child says. */
export type ChildWord = { readonly url: string } | { readonly memory: NodeJS.MemoryUsage };

const collect = globalThis.gc;

/** Turns of so many steps, whose texts come in pieces. */
function loopOf({ steps, callsPerStep, deltas }: ChildOrder) {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'], additionalProperties: false },
    execute: ({ at }) => `saw ${at}`,
  });
  const pieces = Array.from({ length: deltas }, (_, piece) => `piece ${piece} `);
  const model = scriptedModel([
    forever(({ prompt }) => {
      const isLast = prompt.filter(({ role }) => role === 'assistant').length >= steps;
      const text = { text: pieces.join(''), deltas: pieces };
      if (isLast) return text;
      const calls = Array.from({ length: callsPerStep }, (_, index) => {
        const at = prompt.length * callsPerStep + index; // no two calls of a session are the same
        return { tool: 'look', input: { at }, id: `call-${at}` };
      });
      return { ...text, calls };
    }),
  ]);
  return defineLoop({ name: 'load', model, tools: [look], limits: { iterations: steps + 1, calls: 1_000_000 } });
}

async function serveLooprig(order: ChildOrder): Promise<string> {
  const rig = defineRig({ loops: [loopOf(order)] });
  const { url } = await listen(createHost({ rig }));
  return url;
}

/** Streams and events in memory: no journal, no check, no limit. */
async function serveBare({ events }: ChildOrder): Promise<string> {
  const app = new Hono();
  const readers = new Map<string, Set<(event: SessionEvent) => void>>();
  app.post('/v1/sessions', context => {
    const sessionId = crypto.randomUUID();
    readers.set(sessionId, new Set());
    return context.json({ sessionId }, 201);
  });
  app.post('/v1/sessions/:id/turns', async context => {
    const of = readers.get(context.req.param('id')) ?? new Set();
    await context.req.json();
    void (async () => {
      for (const event of events) {
        if (event.type.startsWith('step.')) await new Promise(resolve => setImmediate(resolve));
        for (const tell of of) tell(event);
      }
    })();
    return context.json({ turnId: 't', isNew: true }, 202);
  });
  app.get('/v1/sessions/:id/events', context =>
    streamSSE(context, async stream => {
      const waiting: SessionEvent[] = [];
      let wake = (): void => {};
      const tell = (event: SessionEvent): void => {
        waiting.push(event);
        wake();
      };
      const of = readers.get(context.req.param('id'));
      of?.add(tell);
      stream.onAbort(() => void of?.delete(tell));
      while (!stream.aborted) {
        const event = waiting.shift();
        if (event === undefined)
          await new Promise<void>(resolve => {
            wake = resolve;
          });
        else if (event.type.endsWith('.delta')) await stream.writeSSE({ data: JSON.stringify(event) });
        else await stream.writeSSE({ data: JSON.stringify(event), id: String(event.seq) });
      }
    }),
  );
  return new Promise(resolve => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }, ({ port }) =>
      resolve(`http://127.0.0.1:${port}`),
    );
  });
}

process.on('message', (word: ChildOrder | 'memory') => {
  if (word === 'memory') {
    collect?.();
    process.send?.({ memory: process.memoryUsage() } satisfies ChildWord);
    return;
  }
  void (word.server === 'looprig' ? serveLooprig(word) : serveBare(word)).then(url => {
    process.send?.({ url } satisfies ChildWord);
  });
});
process.on('disconnect', () => process.exit(0));
