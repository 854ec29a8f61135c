/** `looprig answer`, as it is called. */
import type { Command } from 'commander';
import { ANSWER_WORDS, type AnswerOptions, NO_LOOK_OPTIONS } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import { valued } from './option.ts';
import { debugOption, jsonOption, loopOption, SESSION_WORDS, storeOption, withExamples } from './shared.ts';

export function declareAnswer(command: Command, choose: Choose): void {
  command
    .summary('answer what a turn waits for')
    .description(
      `Answers what a call of an unfinished turn asks, from any process, at any time. The answer is kept; "looprig resume ID" goes on with it.

${SESSION_WORDS}`,
    )
    .usage(`ID [GATE] ${ANSWER_WORDS.join('|')}`)
    .argument('[ID]', 'the session')
    .argument('[GATE]', 'needed where several are open: "looprig show ID" lists them; "all" is all of them')
    .argument(
      '[WORD]',
      'yes: the call may do what it asks, once; no: it may not, and the model is told so; always: it may, and so may every like call of this session',
    )
    .allowExcessArguments()
    .addOption(valued('--reason <TEXT>', 'with no: why, for the model'))
    .addOption(loopOption())
    .addOption(jsonOption('what was answered, as one line'))
    .addOption(debugOption())
    .addOption(storeOption())
    .action((_id, _gate, _word, { debug: _, ...flags }: Partial<AnswerOptions> & { debug?: true }) => {
      const options = { ...NO_LOOK_OPTIONS, loop: undefined, reason: undefined, ...flags, ...readWords(command.args) };
      if (options.reason !== undefined && options.word !== 'no') {
        throw new UsageError('--reason says why a call may not do what it wants: give it with no');
      }
      choose({ command: 'answer', options: Object.freeze(options) });
    });
  withExamples(command, [
    'looprig answer last yes',
    'looprig answer last all no --reason "not in this folder"',
    'looprig answer d0b78018 5f20c1aa always',
  ]);
}

/** The gate may be left out, in the middle: so the words are read from both ends. */
function readWords(words: readonly string[]): Pick<AnswerOptions, 'session' | 'gate' | 'word'> {
  const [session, ...rest] = words;
  const said = rest.at(-1);
  const word = ANSWER_WORDS.find(known => known === said);
  if (session === undefined || word === undefined || rest.length > 2) {
    throw new UsageError('looprig answer takes a session, a gate where several are open, and yes, no or always');
  }
  return { session, gate: rest.length === 2 ? rest[0] : undefined, word };
}
