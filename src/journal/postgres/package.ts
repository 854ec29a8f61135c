/** The client of PostgreSQL, a package that only those install who use it. */
import { JournalError } from '../../errors.ts';
import { optionalPackage } from '../../optional-package.ts';

/** What of the package is used. */
export type Pg = Pick<typeof import('pg'), 'Client' | 'Pool'>;

/** Imports the package. Throws `JournalError` `missing_package` where it is not installed. */
export async function loadPg(): Promise<Pg> {
  const { default: pg } = await optionalPackage(
    'a store in PostgreSQL',
    'pg@8',
    () => import('pg'),
    (message, options) => new JournalError('missing_package', message, options),
  );
  return pg;
}
