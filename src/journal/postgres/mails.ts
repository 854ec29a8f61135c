/** The mailboxes of the sessions in one database. */
import type { Mail } from '../mailbox.ts';
import { mailOfText, textOfMail } from '../stored-text.ts';
import type { Database } from './database.ts';
import { keyOf, type SessionKey } from './keys.ts';

/** A session that has mails. */
export interface WithMails {
  readonly name: string;
  /** When the oldest was posted, by the clock of its database, in seconds. */
  readonly since: number;
}

export class Mails {
  readonly #database: Database;
  readonly #table: string;

  constructor(database: Database) {
    this.#database = database;
    this.#table = `${database.schema}.mail`;
  }

  /** False where the session has a mail of this id. */
  async post({ key, name }: SessionKey, mail: Mail): Promise<boolean> {
    // Where the connection is lost, it is asked again: that the mail is there then does not mean that somebody else has posted it.
    const posting = crypto.randomUUID();
    const text = `
      WITH made AS (
        INSERT INTO ${this.#table} (session, name, mail, posting, content) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (session, mail) DO NOTHING RETURNING posting
      )
      SELECT posting FROM made UNION ALL SELECT posting FROM ${this.#table} WHERE session = $1 AND mail = $3`;
    const values = [key, name, keyOf(mail.mailId).key, posting, textOfMail(mail)];
    const rows = await this.#database.ask({ name: 'looprig_post', text, values });
    return rows.some(row => row.posting === posting);
  }

  async read({ key, sessionId }: SessionKey): Promise<readonly Mail[]> {
    const text = `SELECT content FROM ${this.#table} WHERE session = $1 ORDER BY id`;
    const rows = await this.#database.ask({ name: 'looprig_mails', text, values: [key] });
    return rows.map(({ content }) => mailOfText(String(content), sessionId));
  }

  async remove({ key }: SessionKey, mailIds: readonly string[]): Promise<void> {
    const text = `DELETE FROM ${this.#table} WHERE session = $1 AND mail = ANY($2::uuid[])`;
    await this.#database.ask({ name: 'looprig_remove', text, values: [key, mailIds.map(id => keyOf(id).key)] });
  }

  async sessions(): Promise<readonly WithMails[]> {
    const text = `SELECT name, extract(epoch FROM min(posted_at))::float8 AS since FROM ${this.#table} GROUP BY name ORDER BY min(id)`;
    const rows = await this.#database.ask({ text, values: [] });
    return rows.map(row => ({ name: String(row.name), since: Number(row.since) }));
  }
}
