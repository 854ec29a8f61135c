/**
 * Turns as a service has them, for as long as one wants: sessions are opened, play some turns of five calls each and are closed, several at a time. Some
 * turns are interrupted, some tools fail, some results are too long to be shown whole.
 */
import { defineLoop, defineRig, defineTool, type JournalStore, type Rig, toolError } from 'looprig';
import { createHost } from 'looprig/engines';
import { createServer } from 'looprig/server';

/** How many calls a turn makes. */
export const CALLS_A_TURN = 5;
/** How many turns a session plays before it is closed. */
const TURNS_A_SESSION = 20;
const LANES = 16;

/** A workload under way. */
export interface Workload {
  /** How many turns have ended. */
  readonly turns: number;
  /** Plays turns until so many have ended in all, with everything closed that was opened for them. */
  playUntil(turns: number): Promise<void>;
  end(): Promise<void>;
}

/**
 * How the turns are asked for: by the rig's own sessions (`memory` is for a store in memory, and deletes them when they are over), or over HTTP with a reader
 * of events for each session.
 */
export type Way = 'rig' | 'memory' | 'server';

/** A workload over a store, which is the caller's. `keepMs` is how long a host keeps a session alive after its turn. */
export async function workload(store: JournalStore, way: Way, keepMs: number = 30_000): Promise<Workload> {
  const rig = defineRig({ loops: [worker], store });
  const player = way === 'server' ? await serverPlayer(rig, keepMs) : rigPlayer(rig, way === 'memory');
  let turns = 0;
  let begun = 0;
  const lane = async (until: number): Promise<void> => {
    while (begun < until) {
      const count = Math.min(TURNS_A_SESSION, until - begun);
      begun += count;
      await player.playSession(count, () => turns++);
    }
  };
  return {
    get turns() {
      return turns;
    },
    async playUntil(until) {
      await Promise.all(Array.from({ length: LANES }, () => lane(until)));
    },
    end: () => player.end(),
  };
}

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

let calls = 0;

/** Asks for its calls, and answers when it has their results. Unlike a scripted model it remembers no request. */
const model = {
  specificationVersion: 'v4' as const,
  ...{ provider: 'soak', modelId: 'soak', supportedUrls: {} },
  async doStream({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) {
    const isAnswer = prompt.at(-1)?.role === 'tool';
    const parts = isAnswer ? answerParts() : callParts();
    const stream = new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
    return { stream };
  },
  async doGenerate(): Promise<never> {
    throw new Error('this model streams');
  },
};

function answerParts(): object[] {
  const deltas = Array.from({ length: 10 }, (_, id) => ({ type: 'text-delta', id: '0', delta: `word ${id} ` }));
  const finishReason = { unified: 'stop', raw: 'stop' };
  return [
    { type: 'text-start', id: '0' },
    ...deltas,
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason, usage },
  ];
}

function callParts(): object[] {
  const parts = Array.from({ length: CALLS_A_TURN }, () => {
    const n = calls++;
    return { type: 'tool-call', toolCallId: `c${n}`, toolName: 'work', input: JSON.stringify({ n }) };
  });
  return [...parts, { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage }];
}

const LONG = 'a line of a long result\n'.repeat(2_000);

const work = defineTool({
  name: 'work',
  description: 'Works.',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const,
  execute({ n }, { progress }) {
    if (n % 50 === 7) return toolError(`nothing is known of ${n}`);
    if (n % 50 === 21) throw new Error(`${n} cannot be worked on`);
    if (n % 100 === 42) return `${n % 1_000} ${LONG}`;
    progress(`half of ${n}`);
    return { n, done: true };
  },
});

const worker = defineLoop({
  ...{ name: 'worker', model: model as never, tools: [work], repeat: false },
  limits: { resultBytes: 4_096 },
});

interface Player {
  playSession(turns: number, onTurn: () => void): Promise<void>;
  end(): Promise<void>;
}

/** Which turns are interrupted. */
const isStopped = (turn: number): boolean => turn % 13 === 5;

function rigPlayer(rig: Rig<readonly [typeof worker]>, deletes: boolean): Player {
  return {
    async playSession(turns, onTurn) {
      const session = await rig.open();
      for (let turn = 0; turn < turns; turn++) {
        const handle = session.submit(`turn ${turn}`);
        for await (const event of handle)
          if (event.type === 'tool.started' && isStopped(turn)) handle.interrupt('enough');
        await handle.result;
        onTurn();
      }
      await session.close();
      if (deletes) await rig.delete(session.id);
    },
    async end() {},
  };
}

async function serverPlayer(rig: Rig<readonly [typeof worker]>, keepMs: number): Promise<Player> {
  const host = createHost({ rig, keepMs });
  const server = await createServer(host);
  const ask = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { 'content-type': 'application/json' };
    const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const response = await server.fetch(request);
    if (!response.ok) throw new Error(`${response.status} of ${path}: ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  return {
    async playSession(turns, onTurn) {
      const { sessionId } = await ask('/v1/sessions', {});
      const path = `/v1/sessions/${sessionId}`;
      const response = await server.fetch(new Request(`http://localhost${path}/events`));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let turn = 0; turn < turns; turn++) {
        await ask(`${path}/turns`, { input: `turn ${turn}` });
        if (isStopped(turn)) await ask(`${path}/interrupt`, {});
        await readToTurnEnd(reader);
        onTurn();
      }
      await reader.cancel();
    },
    async end() {
      await server.close();
      await host.close();
    },
  };
}

async function readToTurnEnd(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  let text = '';
  for (let next = await reader.read(); next.done !== true; next = await reader.read()) {
    text = text.slice(-100) + next.value;
    // An interrupt that comes before the turn begins takes its input back.
    if (/"type":"(?:turn\.(?:done|failed|interrupted)|input\.cancelled)"/.test(text)) return;
  }
  throw new Error('the stream of events ended before the turn did');
}
