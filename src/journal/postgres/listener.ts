/**
 * The one connection on which a process hears what is new in a database. It is there while anybody watches, keeps no process alive, and is made anew
 * where it is lost. Then, and every few seconds, the database is asked where the sessions stand that are watched.
 */
import type { StoreNews } from '../mailbox.ts';
import type { Database, Row } from './database.ts';
import { Line } from './line.ts';

/** How often the database is asked, in milliseconds, beside being listened to. */
const LOOK_MS = 2_000;

/** The pauses before the connection is made again, in milliseconds: each twice the one before. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/** Who is told. */
export interface Ears {
  /** The keys of the sessions that are watched. */
  sessions(): readonly string[];
  hear(payload: string): void;
  tell(key: string, news: StoreNews): void;
}

/** Where a session stands, as far as news are concerned. */
interface Standing {
  readonly lastSeq: number;
  readonly lastMail: number;
}

export class Listener {
  readonly #database: Database;
  readonly #ears: Ears;
  readonly #channels = new Set<string>();
  readonly #known = new Map<string, Standing>();
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;

  constructor(database: Database, ears: Ears) {
    this.#database = database;
    this.#ears = ears;
  }

  /** Somebody watches a session of this channel from now on. */
  listen(channel: string): void {
    if (this.#isOver || (this.#running !== undefined && this.#channels.has(channel))) return;
    this.#channels.add(channel);
    this.#running ??= this.#run();
    this.#wake?.();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#wake?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#isOver && this.#ears.sessions().length > 0) {
      try {
        await this.#listen();
        pauseMs = FIRST_PAUSE_MS;
      } catch {
        await this.#pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
    this.#channels.clear();
    this.#known.clear();
    this.#running = undefined;
  }

  /** Listens on one connection until nobody watches any more. Throws when the connection is lost. */
  async #listen(): Promise<void> {
    // Tables are made before they are asked.
    await this.#database.open();
    const line = new Line(this.#database.config, async client => {
      client.on('notification', ({ payload = '' }) => this.#ears.hear(payload));
      client.on('error', () => this.#wake?.());
    });
    const listened = new Set<string>();
    try {
      do {
        const channels = [...this.#channels].filter(channel => !listened.has(channel));
        if (channels.length > 0)
          await line.ask({ text: channels.map(name => `LISTEN ${name}`).join('; '), values: [] });
        for (const channel of channels) listened.add(channel);
        await this.#look(line);
        if ([...this.#channels].every(channel => listened.has(channel))) await this.#pause(LOOK_MS);
      } while (line.isConnected && !this.#isOver && this.#ears.sessions().length > 0);
    } finally {
      line.end();
    }
  }

  /** Asks where the sessions stand: what was written while nobody listened is told. */
  async #look(line: Line): Promise<void> {
    const { schema } = this.#database;
    const text = `
      SELECT key,
        (SELECT last_seq FROM ${schema}.session WHERE session.key = wanted.key) AS last_seq,
        (SELECT max(id) FROM ${schema}.mail WHERE mail.session = wanted.key) AS last_mail
      FROM unnest($1::uuid[]) AS wanted (key)`;
    const sessions = this.#ears.sessions();
    const { rows } = await line.ask({ name: 'looprig_standings', text, values: [sessions] });
    for (const row of rows) this.#compare(row);
    const watched = new Set(sessions);
    for (const key of this.#known.keys()) if (!watched.has(key)) this.#known.delete(key);
  }

  /** What is seen for the first time may be news. */
  #compare(row: Row): void {
    const [key, lastSeq, lastMail] = [String(row.key), Number(row.last_seq ?? 0), Number(row.last_mail ?? 0)];
    const known = this.#known.get(key);
    this.#known.set(key, { lastSeq, lastMail: Math.max(lastMail, known?.lastMail ?? 0) });
    if (lastSeq !== (known?.lastSeq ?? 0)) this.#ears.tell(key, 'records');
    if (lastMail > (known?.lastMail ?? 0)) this.#ears.tell(key, 'mails');
  }

  /** Until `#wake` is called, or for so long. Keeps no process alive. */
  async #pause(ms: number): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
