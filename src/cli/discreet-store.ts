/** A store that is told no key: a provider's error may quote the one that it was given, and what failed stands in the journal for all its readers. */
import type { JournalRecord, JournalStore } from '../index.ts';
import { overlaid } from '../overlaid.ts';
import type { SecretFilter } from './secrets.ts';

/** The same store, but that in what it is told of failures and retries every known secret is replaced. */
export function discreetStore(store: JournalStore, secrets: SecretFilter): JournalStore {
  const append: JournalStore['append'] = (sessionId, expectedSeq, records) =>
    store.append(
      sessionId,
      expectedSeq,
      records.map(record => withoutSecrets(record, secrets)),
    );
  return overlaid(store, { append });
}

function withoutSecrets(record: JournalRecord, secrets: SecretFilter): JournalRecord {
  if (record.type === 'step.retrying') return Object.freeze({ ...record, reason: secrets.clean(record.reason) });
  if (record.type !== 'turn.failed') return record;
  const error = Object.freeze({ ...record.error, message: secrets.clean(record.error.message) });
  return Object.freeze({ ...record, error });
}
