/** A turn that is left to another process: what is known is recorded, and nothing more of it happens here. */
import { JournalError } from '../errors.ts';
import type { TurnContext } from './context.ts';

/** Records what waits to be recorded, and rejects as an append does in a session that was released. */
export async function leave(turn: TurnContext): Promise<never> {
  await turn.append([]);
  throw new JournalError('released', `session ${turn.sessionId} was released: another process goes on with it`);
}
