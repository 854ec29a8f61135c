/** What a session left when its play was over, read by a process that was never killed. */
import { createHash } from 'node:crypto';
import { defineLoop, defineRig, type JournalRecord, type Message } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { scriptedModel } from 'looprig/testing';
import { type LedgerLine, readLedger } from '../support/ledger.ts';
import { ledgerFile, storeFile } from './plan.ts';

export interface Remains {
  readonly records: readonly JournalRecord[];
  readonly history: readonly Message[];
  readonly ledger: readonly LedgerLine[];
  /** Ids of large results that the store does not give back as they were. */
  readonly lostCaptures: readonly string[];
}

/** Reads journal, history, large results and ledger of the one session in `folder`. */
export async function readRemains(folder: string): Promise<Remains> {
  const store = sqliteStore({ file: storeFile(folder) });
  try {
    const [known, another] = await store.list();
    if (known === undefined || another !== undefined) {
      throw new Error(`there must be one session, not ${known === undefined ? 'none' : 'several'}`);
    }
    const { sessionId } = known;
    const records: JournalRecord[] = [];
    for await (const record of store.read(sessionId, 1)) records.push(record);
    const captures = records.flatMap(record => (record.type === 'tool.completed' && record.capture) || []);
    const lostCaptures: string[] = [];
    for (const { id } of captures) {
      const bytes = await store.getCapture(sessionId, id);
      if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== id) lostCaptures.push(id);
    }
    const rig = defineRig({ loops: [defineLoop({ name: 'play', model: scriptedModel([]) })], store });
    await using session = await rig.open({ sessionId });
    return { records, history: session.history, ledger: readLedger(ledgerFile(folder)), lostCaptures };
  } finally {
    await store.close();
  }
}
