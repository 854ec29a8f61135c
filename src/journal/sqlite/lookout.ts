/**
 * Looks for what other connections write: SQLite tells nobody, so that the file is asked. One look for all sessions that are watched, and it costs next
 * to nothing while nobody else writes.
 */
import { Watchers } from '../watchers.ts';
import type { Standing } from './protocol.ts';

/** How often the file is asked, in milliseconds. */
const LOOK_MS = 100;

export class Lookout {
  readonly watchers: Watchers = new Watchers();
  readonly #ask: (sessions: readonly string[]) => Promise<readonly Standing[] | undefined>;
  readonly #known = new Map<string, Standing>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** `ask` tells where sessions stand, by their names in the file; it rejects where the file cannot be read now. */
  constructor(ask: (sessions: readonly string[]) => Promise<readonly Standing[] | undefined>) {
    this.#ask = ask;
  }

  /** Looks from now on, as long as anybody watches. Keeps no process alive. */
  begin(): void {
    if (this.#timer !== undefined || this.#isOver) return;
    this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const sessions = this.watchers.sessions;
    if (sessions.length > 0) {
      const standings = await this.#ask(sessions).catch(() => undefined); // whoever reads next is told why
      for (const standing of standings ?? []) this.#compare(standing);
    }
    for (const session of this.#known.keys()) if (!this.watchers.has(session)) this.#known.delete(session);
    this.#timer = undefined;
    if (this.watchers.sessions.length > 0) this.begin();
  }

  /** What is seen for the first time may be news; so may be that nothing is there any more. */
  #compare(standing: Standing): void {
    const { session, lastSeq, lastMail } = standing;
    const known = this.#known.get(session);
    this.#known.set(session, { ...standing, lastMail: Math.max(lastMail, known?.lastMail ?? 0) });
    if (lastSeq !== (known?.lastSeq ?? -1)) this.watchers.tell(session, 'records');
    if (lastMail > (known?.lastMail ?? -1)) this.watchers.tell(session, 'mails');
  }
}
