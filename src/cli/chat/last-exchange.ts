/** What stands at the end of a session that goes on: its last turn, as it looked when it ran, or what is left of it. */
import type { JournalRecord, JournalStore, TurnEvent } from '../../index.ts';
import type { Host } from '../host.ts';
import type { SecretFilter } from '../secrets.ts';
import { SessionPage } from '../session-page.ts';
import { type CutShort, Trail } from '../trail.ts';

/** The last turn of a session. */
interface LastExchange {
  /** The turn on the screen, in whole lines; empty where there is none, or it is unfinished and will be shown when it is taken up. */
  readonly text: string;
  readonly cutShort: CutShort | undefined;
  /** The number of the last event: what comes before it was shown, or acted on, by another process. */
  readonly lastEventSeq: number;
}

/** One step of a turn: a record, and the events that show it. */
interface Shown {
  readonly record: JournalRecord;
  readonly events: readonly TurnEvent[];
}

/** Reads a session to its end. */
export async function lastExchange(
  store: JournalStore,
  sessionId: string,
  host: Host,
  secrets: SecretFilter,
): Promise<LastExchange> {
  const trail = new Trail(sessionId);
  let turn: Shown[] = [];
  for await (const record of store.read(sessionId, 1)) {
    const events = trail.take(record);
    if (events.some(({ type }) => type === 'turn.started')) turn = [];
    turn.push({ record, events });
  }
  const { cutShort, lastEventSeq } = trail;
  return { text: cutShort === undefined ? shown(turn, trail, host, secrets) : '', cutShort, lastEventSeq };
}

function shown(turn: readonly Shown[], { inputs }: Trail, host: Host, secrets: SecretFilter): string {
  let text = '';
  const { isTTY, columns, rows } = host.stderr;
  const page = new SessionPage({ ...host, stdout: { isTTY, columns, rows, write: piece => (text += piece) } }, secrets);
  for (const { record, events } of turn) {
    for (const event of events) page.event(event);
    page.record(record, inputs);
  }
  page.leave();
  return text;
}
