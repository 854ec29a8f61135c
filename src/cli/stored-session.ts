/** Sessions of a store, summed up for lists. */
import {
  type AnyLanguageModel,
  defineLoop,
  defineRig,
  JournalError,
  type JournalStore,
  type SessionSummary,
  type StoredSession,
} from '../index.ts';

/** How a session stands. `unfinished` is a turn that was cut short; `running` one that another process works on. */
export type SessionStanding = Exclude<SessionSummary['state'], 'running'> | 'unfinished' | 'running' | 'damaged';

/** A session in the program's list. */
export interface ListedSession extends Omit<SessionSummary, 'state'> {
  readonly state: SessionStanding;
}

/** Nobody is asked by it: lists are made from journals alone. */
const NO_MODEL: AnyLanguageModel = Object.freeze({
  ...{ specificationVersion: 'v4' as const, provider: 'looprig', modelId: 'none', supportedUrls: {} },
  doGenerate: () => Promise.reject(new Error('this model answers nothing')),
  doStream: () => Promise.reject(new Error('this model answers nothing')),
});

const LISTING_LOOP = defineLoop({ name: 'listing', model: NO_MODEL });

/** Sums a session up. One whose journal is damaged is listed all the same. */
export async function summarise(store: JournalStore, stored: StoredSession): Promise<ListedSession> {
  const one: JournalStore = {
    append: (...given) => store.append(...given),
    read: (...given) => store.read(...given),
    list: () => Promise.resolve([stored]),
    find: id => store.find(id),
    putCapture: (...given) => store.putCapture(...given),
    getCapture: (...given) => store.getCapture(...given),
  };
  try {
    const [summary] = await defineRig({ loops: [LISTING_LOOP], store: one }).sessions();
    if (summary !== undefined) return { ...summary, state: summary.state === 'running' ? 'unfinished' : summary.state };
  } catch (error) {
    if (!JournalError.is(error) || error.kind === 'closed') throw error;
  }
  const { sessionId, createdAt, updatedAt } = stored;
  return { sessionId, loop: '', title: '', state: 'damaged', turns: 0, calls: 0, createdAt, updatedAt };
}
