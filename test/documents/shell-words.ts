/** Lines of a shell, as far as documents use it: words with quotes, variables set before a command, `&&`, pipes, redirections, comments. */

export interface ShellCommand {
  /** The program and what it is given; variables that are set before it are left out, and so is where its output goes. */
  readonly words: readonly string[];
  readonly line: string;
}

/** The commands of a block, one after another. */
export function shellCommands(code: string): ShellCommand[] {
  return code.split('\n').flatMap(line => {
    const words = wordsOf(line);
    const commands: string[][] = [[]];
    for (const word of words) {
      if (word.isPlain && ['&&', '|', '||', ';'].includes(word.text)) commands.push([]);
      else commands.at(-1)?.push(word.isPlain && /^>>?$/.test(word.text) ? '>' : word.text);
    }
    return commands
      .map(command => ({ words: withoutSurroundings(command), line }))
      .filter(({ words }) => words.length > 0);
  });
}

function withoutSurroundings(words: readonly string[]): string[] {
  const first = words.findIndex(word => !/^[A-Z_]+=/.test(word));
  const end = words.indexOf('>');
  return first === -1 ? [] : words.slice(first, end === -1 ? undefined : end);
}

interface Word {
  readonly text: string;
  /** Whether it stands without quotes. */
  readonly isPlain: boolean;
}

function wordsOf(line: string): Word[] {
  const found: Word[] = [];
  for (const [part, double, single, plain = ''] of line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)) {
    if (part.startsWith('#')) break;
    const quoted = double ?? single;
    found.push({ text: quoted ?? plain, isPlain: quoted === undefined });
  }
  return found;
}
