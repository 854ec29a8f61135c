/**
 * What is new, told from process to process: by notifications of the database where it can be, and by a look at it now and then, so that one that
 * is lost is only late. A notification is no part of an append: a transaction with one holds up all others with one while it waits for the
 * disk, and an append must not fail for want of a listener.
 */
import type { StoreNews } from '../mailbox.ts';
import { Watchers } from '../watchers.ts';
import type { Database } from './database.ts';
import type { SessionKey } from './keys.ts';
import { Listener } from './listener.ts';

/** Notifications are gathered for so long, in milliseconds, after the first of a burst. */
const GATHER_MS = 20;

/** In how many channels sessions are told of: whoever watches few of them hears of few others. */
const CHANNELS = 64;

export class Signals {
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #watchers = new Watchers();
  /** Tells own notifications from those of others. */
  readonly #origin = crypto.randomUUID().slice(0, 8);
  readonly #waiting = new Map<string, { readonly channel: string; readonly payload: string }>();
  #sending: Promise<void> | undefined;
  #hurry: (() => void) | undefined;
  #isQuiet = false;

  constructor(database: Database) {
    this.#database = database;
    this.#listener = new Listener(database, {
      sessions: () => this.#watchers.sessions,
      hear: payload => this.#hear(payload),
      tell: (key, news) => this.#watchers.tell(key, news),
    });
  }

  watch({ key }: SessionKey, listener: (news: StoreNews) => void): () => void {
    const stop = this.#watchers.add(key, listener);
    this.#listener.listen(this.#channelOf(key));
    return stop;
  }

  /** Tells those who watch in this process at once, and those in others soon. */
  tell(key: string, news: StoreNews): void {
    this.#watchers.tell(key, news);
    if (this.#isQuiet) return;
    this.#waiting.set(`${news} ${key}`, { channel: this.#channelOf(key), payload: `${this.#origin} ${news} ${key}` });
    this.#sending ??= this.#send();
  }

  /** Sends what is waiting, and tells nothing any more. */
  async close(): Promise<void> {
    this.#isQuiet = true;
    this.#hurry?.();
    await this.#sending;
    await this.#listener.close();
  }

  #channelOf(key: string): string {
    return `looprig_${this.#database.schema}_${Number.parseInt(key.slice(-4), 16) % CHANNELS}`;
  }

  #hear(payload: string): void {
    const [origin, news, key] = payload.split(' ');
    if (origin === this.#origin || key === undefined) return;
    if (news === 'records' || news === 'mails') this.#watchers.tell(key, news);
  }

  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const signals = [...this.#waiting.values()];
      this.#waiting.clear();
      const text =
        'SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS signal (channel, payload)';
      const values = [signals.map(({ channel }) => channel), signals.map(({ payload }) => payload)];
      // Whoever misses it looks for itself.
      await this.#database.attempt({ name: 'looprig_notify', text, values }).catch(() => undefined);
      if (!this.#isQuiet) await this.#gather();
    }
    this.#sending = undefined;
  }

  /** Keeps no process alive. */
  async #gather(): Promise<void> {
    await new Promise<void>(resolve => {
      setTimeout(resolve, GATHER_MS).unref();
      this.#hurry = resolve;
    });
    this.#hurry = undefined;
  }
}
