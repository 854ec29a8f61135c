/** Types of `looprig/ai`: what is written is checked against the tools and the turns that it is about. */
import { tool, type UIMessageChunk } from 'ai';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Session, ToolDefinition } from '../index.ts';
import { chatStream, fromAISDK, toUIMessageStream } from './index.ts';

const write = tool({
  description: 'Writes.',
  inputSchema: z.object({ path: z.string(), lines: z.number() }),
  execute: ({ path }) => path,
});

expectTypeOf(fromAISDK({ write })).toEqualTypeOf<readonly ToolDefinition[]>();

fromAISDK(
  { write },
  {
    capabilities: {
      write: {
        resource: input => {
          expectTypeOf(input).toEqualTypeOf<{ path: string; lines: number }>();
          return input.path;
        },
      },
    },
  },
);

// @ts-expect-error there is no tool of this name
fromAISDK({ write }, { capabilities: { read: { idempotent: true } } });

declare const session: Session<'plan', { n: number }>;
expectTypeOf(toUIMessageStream(session.submit('go'), { session })).toEqualTypeOf<ReadableStream<UIMessageChunk>>();
expectTypeOf(chatStream(session, {})).resolves.toEqualTypeOf<ReadableStream<UIMessageChunk>>();
