/** What a server asks the user, answered by the program. */
import type { Client, ElicitResult } from '@modelcontextprotocol/client';
import type { McpToolsetOptions } from './options.ts';

/** Lets `elicit` answer the server's questions. Throwing is no answer: the question is cancelled. */
export function elicitWith(client: Client, server: string, elicit: NonNullable<McpToolsetOptions['elicit']>): void {
  client.setRequestHandler('elicitation/create', async ({ params }): Promise<ElicitResult> => {
    // Asked to open a page, a program that was never asked whether it can has nothing to show.
    if (!('requestedSchema' in params)) return { action: 'decline' };
    try {
      const answer = await elicit({ server, message: params.message, requestedSchema: params.requestedSchema });
      return answer.action === 'accept'
        ? { action: 'accept', content: { ...answer.content } }
        : { action: answer.action };
    } catch {
      return { action: 'cancel' };
    }
  });
}
