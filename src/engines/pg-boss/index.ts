/** `looprig/pg-boss`: turns as jobs of a queue in PostgreSQL, for those who have a database and want nothing else. */
import type { ClosableEngine } from '../engine.ts';
import { PgBossEngine } from './engine.ts';
import { type PgBossOptions, resolvePgBoss } from './options.ts';

export type { PgBossOptions } from './options.ts';

/** An engine on a PostgreSQL database. Needs the package `pg-boss`. Throws `DefinitionError` for options that it cannot take. */
export function pgBoss(options: PgBossOptions): ClosableEngine {
  return new PgBossEngine(resolvePgBoss(options));
}
