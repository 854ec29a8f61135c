/**
 * One life of a session: the program that is killed. It opens the session of its folder, new or as another process left it, takes up what
 * is unfinished, and goes on with the play to its end. What it finds wrong is its exit code.
 */
import { inspect } from 'node:util';
import {
  defineLoop,
  defineRig,
  GateError,
  JournalConflictError,
  type JournalRecord,
  type JournalStore,
  type Message,
  type PendingGate,
  type Rig,
  type Session,
  type Turn,
} from '../../src/index.ts';
import { sqliteStore } from '../../src/journal/sqlite/index.ts';
import { assertPaired } from '../../src/testing/paired.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { writeLedger } from '../support/ledger.ts';
import { ExactKill } from './exact.ts';
import { type LifePlan, LOST, ledgerFile, storeFile } from './plan.ts';
import { NEVER_MIND, type Play, playOf, replyTo } from './plays.ts';
import { effectTools } from './tools.ts';

/** What the parent is told, one word a line. */
function say(word: 'opened' | 'waiting' | 'answered' | 'finished'): void {
  process.stdout.write(`${word}\n`);
}

const APPROVE = { decision: 'approve' } as const;

class Life {
  readonly #plan: LifePlan;
  readonly #play: Play;
  readonly #store: Required<JournalStore>;
  readonly #rig: Rig;
  /** Texts that the session has received. */
  readonly #given = new Set<string>();
  /** Calls that began, in this life or before. */
  readonly #begun = new Set<string>();
  /** Whether the play differs from what it was to be: then a question may come that a rule would have answered. */
  #hasMovedOn = false;
  #session: Session | undefined;

  constructor(folder: string, plan: LifePlan) {
    this.#plan = plan;
    this.#play = playOf(plan.play);
    const kill = new ExactKill(plan.exact);
    this.#store = kill.within(sqliteStore({ file: storeFile(folder) }));
    const ledger = ledgerFile(folder);
    const note = (type: 'begin' | 'end', callId: string, toolName: string, input: unknown): void => {
      writeLedger(ledger, { type, life: plan.life, callId, toolName, input });
      kill.arrive(type);
    };
    const tools = effectTools(folder, {
      begin: ({ callId, toolName }, input) => {
        note('begin', callId, toolName, input);
        this.#steer(callId);
      },
      end: ({ callId, toolName }, input) => note('end', callId, toolName, input),
    });
    const model = scriptedModel({
      forever: ({ prompt }) => {
        requireValid(prompt);
        kill.arrive('asked');
        return { delayMs: 1, ...replyTo(this.#play, prompt) };
      },
    });
    const rules = [
      { action: 'fs.write', target: '/ok/**', decision: 'allow' as const },
      { action: 'fs.write', target: '/no/**', decision: 'deny' as const },
    ];
    this.#rig = defineRig({
      loops: [defineLoop({ name: 'play', model, tools, repeat: false, ...this.#play.loop })],
      store: this.#store,
      gate: { rules, ask: this.#play.answers !== undefined },
    });
  }

  async live(): Promise<void> {
    const { life, person, movesOn } = this.#plan;
    const [known] = await this.#store.list();
    writeLedger(ledgerFile(folder), { type: 'life', life, lastSeq: known?.lastSeq ?? 0 });
    const session: Session = await this.#rig.open(known === undefined ? {} : { sessionId: known.sessionId });
    this.#session = session;
    if (known !== undefined) await this.#lookBack(session, known.lastSeq);
    say('opened');
    if (person === 'answers' || person === 'early') for (const gate of session.gates) await this.#answer(session, gate);
    if (person === 'answers' && known !== undefined) return this.#leave(session, 'answered');
    this.#attend(session);
    if (movesOn === true && session.unfinished?.turnId !== undefined) {
      this.#hasMovedOn = true;
      requireDone(session.submit(`${NEVER_MIND} ${life}`));
    } else if (session.unfinished !== undefined) requireDone(session.resume());
    await this.#goOn(session);
    if (session.unfinished !== undefined || session.gates.length > 0) throw new Error('something is left to do');
    await this.#leave(session, 'finished');
  }

  async #leave(session: Session, word: 'answered' | 'finished'): Promise<void> {
    say(word);
    await session.close();
    await this.#store.close();
  }

  /**
   * What the journal says was given; and what it says was decided cannot be decided again. Up to `lastSeq` the session surely knows it: a
   * rival may have written more since.
   */
  async #lookBack(session: Session, lastSeq: number): Promise<void> {
    const records: JournalRecord[] = [];
    for await (const record of this.#store.read(session.id, 1)) records.push(record);
    assertPaired(session.history);
    for (const record of records) {
      if (record.type === 'turn.started' || record.type === 'input.received') {
        const text = record.message === undefined ? '' : textOf(record.message);
        this.#given.add(text);
        if (text.startsWith(NEVER_MIND)) this.#hasMovedOn = true;
      } else if (record.type === 'tool.started') this.#begun.add(record.callId);
      else if (record.type === 'gate.resolved' && record.seq <= lastSeq) await requireClosed(session, record.gateId);
    }
  }

  /** Gives the inputs that are left, a group when the one before it is through. */
  async #goOn(session: Session): Promise<void> {
    for (const group of this.#play.inputs) {
      // What a group has not received yet comes at once, whatever runs: the rest of it waits in the same order.
      for (const text of group) if (this.#take(text)) requireDone(session.submit(text));
      await idle(session);
    }
    for (const { text } of this.#play.steers ?? []) {
      if (this.#take(text)) await session.steer(text);
      await idle(session);
    }
  }

  #take(text: string): boolean {
    if (this.#given.has(text)) return false;
    this.#given.add(text);
    return true;
  }

  /** Says to the running turn what is due since a call has begun. */
  #steer(callId: string): void {
    this.#begun.add(callId);
    for (const { text, on } of this.#play.steers ?? []) {
      if (this.#begun.has(on) && this.#take(text)) this.#session?.steer(text).catch(fail);
    }
  }

  /** Answers gates as they open, or tells the parent that somebody has to. */
  #attend(session: Session): void {
    const see = async (gate: PendingGate): Promise<void> => {
      if (this.#plan.person === 'absent') say('waiting');
      else await this.#answer(session, gate);
    };
    const reader = session.subscribe();
    const seen = new Set<string>();
    const look = async (): Promise<void> => {
      for (const gate of session.gates) {
        if (seen.has(gate.gateId)) continue;
        seen.add(gate.gateId);
        await see(gate);
      }
    };
    (async () => {
      for await (const event of reader) if (event.type === 'gate.opened') await look();
    })().catch(fail);
    setImmediate(() => void look().catch(fail)); // once the turn is taken up, those that another process opened
  }

  async #answer(session: Session, { gateId, callId }: PendingGate): Promise<void> {
    const answer = this.#play.answers?.[callId] ?? (this.#hasMovedOn ? APPROVE : undefined);
    if (answer === undefined) throw new Error(`a gate opened for the call ${callId}, which nobody has to be asked for`);
    await session.answer(gateId, answer);
    await requireClosed(session, gateId);
  }
}

async function idle(session: Session): Promise<void> {
  for (let turn = session.turn; turn !== undefined; turn = session.turn) {
    requireDone(turn);
    await turn.result;
  }
}

/** Every turn of the plays ends with an answer, whatever happened to the processes before. */
function requireDone(turn: Turn<unknown>): void {
  turn.result
    .then(result => {
      if (result.status === 'failed') throw result.error;
      if (result.status === 'interrupted') throw new Error(`a turn was interrupted: ${result.reason}`);
      if (result.status !== 'done') throw new Error(`a turn was ${result.status}`);
    })
    .catch(fail);
}

async function requireClosed(session: Session, gateId: string): Promise<void> {
  try {
    await session.answer(gateId, { decision: 'approve' });
  } catch (error) {
    if (GateError.is(error) && error.kind === 'closed_gate') return;
    throw error;
  }
  throw new Error(`gate ${gateId} could be answered twice`);
}

/** Every request is one that a provider takes. */
function requireValid(prompt: readonly Message[]): void {
  const said = prompt.filter(({ role }) => role !== 'system');
  assertPaired(said);
  if (said[0]?.role !== 'user') throw new Error('a request does not begin with the user');
  const last = said.at(-1)?.role;
  if (last !== 'user' && last !== 'tool') throw new Error(`a request ends with the role "${last}"`);
}

function textOf({
  content,
}: {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}): string {
  return content.map(({ text = '' }) => text).join('');
}

/** What the process finds wrong. A rival that has taken the session over is told apart. */
function fail(error: unknown): void {
  if (told.hasRival === true && JournalConflictError.is(error)) process.exit(LOST);
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(3);
}

// Whoever started it is gone: nobody would end it any more.
process.stdin.resume().on('end', () => process.exit(4));

const [folder = '', plan = ''] = process.argv.slice(2);
const told = JSON.parse(plan) as LifePlan;
new Life(folder, told).live().then(() => process.exit(0), fail);
