/** A host in its plainest form: sessions of one rig, in this process. */
import {
  EVENT_DURABILITY,
  type JournalStore,
  type Rig,
  recordedEvents,
  type Session,
  SessionError,
  type SessionEvent,
  type UserInput,
} from 'looprig';
import type { SessionHost } from '../../src/engines/host.ts';

export function directHost(rig: Rig, store: JournalStore, loops: SessionHost['loops']): SessionHost {
  const open = new Map<string, Promise<Session>>();
  const keys = new Map<string, { text: string; accepted: Promise<string> }>();
  const ended = new AbortController();
  const session = (sessionId: string): Promise<Session> => {
    const opened = open.get(sessionId) ?? rig.open({ sessionId });
    open.set(sessionId, opened);
    opened.catch(() => open.delete(sessionId));
    return opened;
  };
  const once = async (sessionId: string, key: string | undefined, input: UserInput, act: () => Promise<string>) => {
    if (key === undefined) return { turnId: await act(), isNew: true };
    const known = keys.get(`${sessionId} ${key}`);
    const text = JSON.stringify(input);
    if (known !== undefined) {
      if (known.text !== text) throw new SessionError('idempotency_key_reused', 'the key was used with another input');
      return { turnId: await known.accepted, isNew: false };
    }
    const accepted = act();
    keys.set(`${sessionId} ${key}`, { text, accepted });
    accepted.catch(() => keys.delete(`${sessionId} ${key}`));
    return { turnId: await accepted, isNew: true };
  };
  const host: SessionHost = {
    loops,
    async begin({ loop, mode } = {}) {
      const made = await rig.open({ ...(loop === undefined ? {} : { loop }) });
      open.set(made.id, Promise.resolve(made));
      if (mode !== undefined) await made.setMode(mode);
      return made.id;
    },
    list: ({ delegates = false, limit = 100 } = {}) => rig.sessions({ delegates, limit }),
    async find(sessionId) {
      const opened = await session(sessionId);
      const summary = (await rig.sessions({ delegates: true })).find(one => one.sessionId === sessionId);
      const stored = await store.find(sessionId);
      if (summary === undefined || stored === undefined) throw new SessionError('unknown_session', 'there is none');
      const turnId = opened.turn?.id ?? opened.unfinished?.turnId;
      return {
        ...{ ...summary, mode: opened.mode, lastSeq: stored.lastSeq },
        ...{ isLive: opened.isRunning, gates: opened.gates },
        ...(turnId === undefined ? {} : { turnId }),
      };
    },
    async submit(sessionId, input, { idempotencyKey, ...options } = {}) {
      const opened = await session(sessionId);
      return once(sessionId, idempotencyKey, input, async () => opened.submit(input, options).id);
    },
    async steer(sessionId, input, { idempotencyKey } = {}) {
      const opened = await session(sessionId);
      return once(sessionId, idempotencyKey, input, async () => {
        const running = opened.turn?.id;
        const steered = opened.steer(input);
        return running ?? (await steered.then(({ kind, ...rest }) => ('turn' in rest ? rest.turn.id : kind)));
      });
    },
    async interrupt(sessionId, { turnId, reason } = {}) {
      const { turn } = await session(sessionId);
      if (turn === undefined || (turnId !== undefined && turnId !== turn.id)) return false;
      turn.interrupt(reason);
      return true;
    },
    answer: async (sessionId, gateId, answer) => (await session(sessionId)).answer(gateId, answer),
    resume: async sessionId => (await session(sessionId)).resume().id,
    setMode: async (sessionId, mode) => (await session(sessionId)).setMode(mode),
    async *events(sessionId, { after = 0, signal } = {}): AsyncGenerator<SessionEvent> {
      const reader = (await session(sessionId)).subscribe();
      const stop = (): void => void reader.return();
      for (const one of [signal, ended.signal]) {
        if (one?.aborted) stop();
        one?.addEventListener('abort', stop);
      }
      const eventOf = recordedEvents(sessionId);
      let seq = after;
      for await (const record of store.read(sessionId, 1)) {
        const event = eventOf(record);
        if (signal?.aborted || ended.signal.aborted) return;
        if (event === undefined || event.seq <= seq) continue;
        seq = event.seq;
        yield event;
      }
      for await (const event of reader) {
        if (EVENT_DURABILITY[event.type] === 'enduring' && event.seq <= seq) continue;
        yield event;
      }
    },
    capture: (sessionId, id) => store.getCapture(sessionId, id),
    async close() {
      ended.abort();
      for (const opened of open.values()) await (await opened.catch(() => undefined))?.close();
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
  return host;
}
