/** What a line of a conversation is: something said, or a command of the conversation itself. */

/** The commands, in the order of their help. */
const COMMANDS = [
  { name: 'help', argument: '', summary: 'this list' },
  { name: 'mode', argument: '[NAME]', summary: 'the modes there are, or another one from the next turn on' },
  { name: 'limits', argument: '[NAME=N,…]', summary: 'the limits of the next turns; none takes back those given' },
  { name: 'queue', argument: 'TEXT', summary: 'a turn of its own after the one that runs' },
  { name: 'continue', argument: '', summary: 'takes up a turn that failed or was interrupted' },
  { name: 'session', argument: '', summary: 'what this session is, and how to find it again' },
  { name: 'sessions', argument: '', summary: 'the latest sessions' },
  { name: 'show', argument: '', summary: 'this session from its beginning' },
  { name: 'clear', argument: '', summary: 'empties the screen; the session stays' },
  { name: 'quit', argument: '', summary: 'ends the conversation; a turn that runs is interrupted' },
] as const;

/** The name of a command. */
export type ChatCommandName = (typeof COMMANDS)[number]['name'];

/** A line, read. */
export type ChatLine =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'command'; readonly name: ChatCommandName; readonly rest: string }
  | { readonly kind: 'unknown'; readonly name: string };

/** Reads a line. Two slashes at its beginning are one that is meant. */
export function readChatLine(line: string): ChatLine {
  const text = line.trim();
  if (!text.startsWith('/')) return { kind: 'text', text };
  if (text.startsWith('//')) return { kind: 'text', text: text.slice(1) };
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  const command = COMMANDS.find(known => known.name === name.toLowerCase());
  return command === undefined ? { kind: 'unknown', name } : { kind: 'command', name: command.name, rest };
}

/** All commands in one line. */
export const COMMAND_LIST: string = COMMANDS.map(({ name }) => `/${name}`).join(', ');

/** How wide the column of the commands is, and the narrowest window that has two columns. */
const NAME_COLUMNS = 21;
const LEAST_COLUMNS = 80;

/** The commands with what they do, as lines for a window of this width. */
export function chatHelp(columns: number): readonly string[] {
  return [
    ...COMMANDS.flatMap(({ name, argument, summary }) => {
      const command = `/${name} ${argument}`;
      return columns < LEAST_COLUMNS ? [command, `    ${summary}`] : [`${command.padEnd(NAME_COLUMNS)}${summary}`];
    }),
    'Enter while a turn runs says it to the turn; a line that ends in \\, Alt-Enter or a paste makes several lines.',
    'Up and down recall what was entered before; // at the beginning is a / that is meant. Ctrl-D quits.',
  ];
}

/** What the beginning of a line may become: commands, and modes after `/mode`. */
export function completions(line: string, modes: readonly string[]): readonly string[] {
  const mode = /^\/mode\s+(\S*)$/.exec(line);
  if (mode !== null) {
    return modes.filter(name => name.startsWith(mode[1] ?? '')).map(name => `/mode ${name}`);
  }
  if (!/^\/\S*$/.test(line)) return [];
  return COMMANDS.filter(({ name }) => `/${name}`.startsWith(line)).map(
    ({ name, argument }) => `/${name}${argument === '' ? '' : ' '}`,
  );
}
