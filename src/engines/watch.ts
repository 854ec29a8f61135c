/** Tells what is new in a store's sessions: the store does, or the host looks for itself, here and nowhere else. */
import type { Clock, TimerHandle } from '../clock.ts';
import type { JournalStore } from '../journal/journal.ts';
import type { Mailbox, WatchStore } from '../journal/mailbox.ts';

/** How often a store is asked that does not tell, in milliseconds. */
const LOOK_MS = 500;

export function watchOf(store: JournalStore, mailbox: Mailbox, clock: Clock): WatchStore {
  if (store.watch !== undefined) return (sessionId, listener) => store.watch!(sessionId, listener);
  return (sessionId, listener) => {
    let lastSeq = 0;
    let lastMails = '';
    let timer: TimerHandle | undefined;
    let isOver = false;
    const look = async (): Promise<void> => {
      const [stored, mails] = await Promise.all([store.find(sessionId), mailbox.read(sessionId)]);
      const ids = JSON.stringify(mails.map(({ mailId }) => mailId));
      const hasMails = ids !== lastMails && mails.length > 0;
      const hasRecords = (stored?.lastSeq ?? 0) !== lastSeq; // also where it was deleted
      lastSeq = stored?.lastSeq ?? 0;
      lastMails = ids;
      if (hasRecords && !isOver) listener('records');
      if (hasMails && !isOver) listener('mails');
    };
    const again = (): void => {
      if (isOver) return;
      timer = clock.setTimer(() => void look().then(again, again), LOOK_MS);
    };
    again();
    return () => {
      isOver = true;
      if (timer !== undefined) clock.clearTimer(timer);
    };
  };
}
