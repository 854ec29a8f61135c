/** The client of PostgreSQL, a package that only those install who use it. */
import { JournalError } from '../../errors.ts';

/** What of the package is used. */
export type Pg = Pick<typeof import('pg'), 'Client' | 'Pool'>;

/** Imports the package. Throws `JournalError` `store_failed` where it is not installed. */
export async function loadPg(): Promise<Pg> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = 'a PostgreSQL store needs the package pg, which is not installed: npm install pg@8';
    throw new JournalError('store_failed', message, { cause });
  }
}
