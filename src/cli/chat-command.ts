/** `looprig chat`: a conversation, in a new session or in one of the store. */
import { Chat, type UnfinishedTurn } from './chat/chat.ts';
import { chatAgain, modeNames } from './chat/command-desk.ts';
import { completions } from './chat/commands.ts';
import type { ChatFront } from './chat/front.ts';
import { InputHistory } from './chat/input-history.ts';
import { lastExchange } from './chat/last-exchange.ts';
import { PlainFront } from './chat/plain-front.ts';
import { TerminalFront } from './chat/terminal-front.ts';
import type { ChatParts } from './chat/turn-watch.ts';
import { type CommandEnd, STOPPED } from './command.ts';
import { SEPARATOR } from './gauges.ts';
import type { Host } from './host.ts';
import { openNew, openStored } from './open-session.ts';
import type { ChatOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { isWatched } from './views.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. */
export async function chatCommand(options: ChatOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const { session: given } = options;
  const work = await (given === undefined
    ? openNew({ ...options, prompt: '' }, host, secrets)
    : openStored(given, options, host, secrets));
  if (host.stop.aborted) return STOPPED;
  const file = work.kept?.place && `${work.kept.place.file}.history`;
  const history = await InputHistory.open(file, secrets);
  const complete = (line: string): readonly string[] => completions(line, modeNames(work));
  const front: ChatFront =
    isWatched(options, host) && host.stdin.isTTY === true
      ? new TerminalFront({ host, options, secrets, history, complete })
      : new PlainFront(options, host, secrets);
  const close = (): void => front.close();
  host.quit.addEventListener('abort', close, { once: true });
  try {
    const parts = { work, options, host, secrets, front };
    const end = await new Chat(parts).run(await begin(parts));
    const hasSaid = work.session.history.length > 0;
    if (work.kept !== undefined && hasSaid && !front.isScript) host.stderr.write(`to go on: ${chatAgain(work.kept)}\n`);
    return end;
  } catch (error) {
    front.close();
    throw error;
  } finally {
    host.quit.removeEventListener('abort', close);
    await history.settled();
  }
}

/** Says what is spoken with, and where it was left. Gives what another process left unfinished, where a person can say what is to become of it. */
async function begin({ work, options, host, secrets, front }: ChatParts): Promise<UnfinishedTurn | undefined> {
  const { session, agent, kept, store } = work;
  const where = agent.workspace === undefined ? [] : [agent.workspace];
  const which = kept === undefined ? ['not kept'] : [`session ${kept.shown}`];
  front.say(['looprig chat', agent.label, ...where, ...which].join(SEPARATOR));
  if (options.session === undefined) return undefined;
  const { text, cutShort, lastEventSeq } = await lastExchange(store, session.id, host, secrets);
  if (text !== '' && !front.isScript) front.print(text);
  if (session.unfinished === undefined) return undefined;
  if (!front.isScript) return { cutShort, lastEventSeq };
  front.say('the turn before was unfinished: it ends here, and what it had done is part of the conversation');
  return undefined;
}
