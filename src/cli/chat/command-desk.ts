/** Carries out the commands of a conversation that are no turns. */
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from '../../index.ts';
import { requireMode } from '../agent.ts';
import type { CommandEnd } from '../command.ts';
import { SEPARATOR } from '../gauges.ts';
import type { Host } from '../host.ts';
import { parseLimits } from '../limit-option.ts';
import type { OpenSession } from '../open-session.ts';
import { withOpened } from '../opened.ts';
import { type ChatOptions, NO_LOOK_OPTIONS } from '../options.ts';
import type { SecretFilter } from '../secrets.ts';
import { sessionsCommand } from '../sessions-command.ts';
import { showCommand } from '../show-command.ts';
import { UsageError } from '../usage-error.ts';
import { columnsOf } from '../views.ts';
import { type ChatCommandName, chatHelp } from './commands.ts';
import type { ChatFront } from './front.ts';

/** How many sessions are listed. */
const MOST_SESSIONS = 10;

/** What the commands work on. */
export interface CommandDeskParts {
  readonly work: OpenSession;
  readonly options: ChatOptions;
  readonly host: Host;
  readonly secrets: SecretFilter;
  readonly front: ChatFront;
}

/** The commands that begin or end something are the conversation's own. */
type DeskCommand = Exclude<ChatCommandName, 'queue' | 'continue' | 'quit'>;

export class CommandDesk {
  readonly #parts: CommandDeskParts;
  /** The limits that the next turns are given. */
  #limits: ToolLimits;

  constructor(parts: CommandDeskParts) {
    this.#parts = parts;
    this.#limits = parts.options.limits;
  }

  /** The limits that the next turns are given. */
  get limits(): ToolLimits {
    return this.#limits;
  }

  /** Carries a command out. Throws `UsageError` for what cannot be done as asked. */
  async carryOut(name: DeskCommand, rest: string): Promise<void> {
    const { front, host } = this.#parts;
    switch (name) {
      case 'help':
        for (const line of chatHelp(columnsOf(host.stderr))) front.say(line, 'plain');
        break;
      case 'mode':
        await this.#mode(rest);
        break;
      case 'limits':
        this.#setLimits(rest);
        break;
      case 'session':
        await this.#tellSession();
        break;
      case 'sessions':
        await this.#sessions();
        break;
      case 'show':
        await this.#show();
        break;
      case 'clear':
        front.clearScreen();
        break;
    }
  }

  async #mode(given: string): Promise<void> {
    const { work, front } = this.#parts;
    const { session, agent } = work;
    if (given === '') {
      const names = modeNames(work);
      const now = session.mode === '' ? 'base' : session.mode;
      front.say(`mode ${now}; there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`, 'plain');
      return;
    }
    await session.setMode(requireMode(agent.loop, given));
    front.say(`mode ${given}${session.isRunning ? ', from the next turn on' : ''}`, 'plain');
  }

  #setLimits(given: string): void {
    const { front } = this.#parts;
    if (given === 'none') this.#limits = {};
    else if (given !== '') this.#limits = { ...this.#limits, ...chatLimits(given) };
    const { session, agent } = this.#parts.work;
    const ofLoop = agent.loop.modes.find(({ name }) => name === session.mode)?.limits ?? DEFAULT_TOOL_LIMITS;
    const names = Object.keys(DEFAULT_TOOL_LIMITS) as (keyof ToolLimits)[];
    const own = names.flatMap(name => (this.#limits[name] === undefined ? [] : [`${name}=${this.#limits[name]}`]));
    const others = names.flatMap(name => (this.#limits[name] === undefined ? [`${name}=${ofLoop[name]}`] : []));
    front.say(`given here: ${own.length === 0 ? 'nothing' : own.join(SEPARATOR)}`, 'plain');
    front.say(`of the loop: ${others.join(SEPARATOR)}`);
  }

  async #tellSession(): Promise<void> {
    const { work, front } = this.#parts;
    const { session, agent, kept } = work;
    const where = agent.workspace === undefined ? [] : [agent.workspace];
    const mode = session.mode === '' ? [] : [`mode ${session.mode}`];
    front.say([`session ${session.id}`, agent.label, ...where, ...mode].join(SEPARATOR), 'plain');
    const isBegun = kept !== undefined && (await work.store.find(session.id)) !== undefined;
    if (kept === undefined) front.say('it is not kept');
    else front.say(isBegun ? `to go on later: ${chatAgain(kept)}` : 'it is kept as soon as something is said in it');
  }

  async #sessions(): Promise<void> {
    const { options, secrets } = this.#parts;
    const look = { ...NO_LOOK_OPTIONS, store: options.store, limit: MOST_SESSIONS };
    await this.#printed(host => sessionsCommand(look, host, secrets));
  }

  async #show(): Promise<void> {
    const { work, options, secrets } = this.#parts;
    if (work.kept === undefined) throw new UsageError('this session is not kept: --no-store was given');
    if ((await work.store.find(work.session.id)) === undefined) {
      throw new UsageError('there is nothing to show yet: say what is to be done');
    }
    const look = { ...NO_LOOK_OPTIONS, store: options.store, session: work.kept.sessionId };
    await this.#printed(host => showCommand(look, host, secrets));
  }

  /** What a command of the program prints, in one piece. */
  async #printed(command: (host: Host) => Promise<CommandEnd>): Promise<void> {
    const { host, front } = this.#parts;
    let text = '';
    const into = (stream: Host['stdout']): Host['stdout'] => ({
      ...{ isTTY: stream.isTTY, columns: stream.columns, rows: stream.rows },
      write: piece => (text += piece),
    });
    await withOpened(opened => command({ ...host, opened, stdout: into(host.stderr), stderr: into(host.stderr) }));
    front.print(text);
  }
}

/** The command that goes on with a session. */
export function chatAgain({ shown, storeArgument }: NonNullable<OpenSession['kept']>): string {
  return `looprig chat --session ${shown}${storeArgument}`;
}

/** The modes, as they are typed. */
export function modeNames({ agent }: Pick<OpenSession, 'agent'>): readonly string[] {
  return [...new Set(agent.loop.modes.map(({ name }) => (name === '' ? 'base' : name)))];
}

function chatLimits(given: string): ToolLimits {
  try {
    return parseLimits(given);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replace('--limits', '/limits'), { cause: error });
  }
}
