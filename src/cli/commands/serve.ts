/** `looprig serve` and `looprig worker`, as they are called. */
import type { Command, Option } from 'commander';
import { NO_TURN_OPTIONS, type ServeOptions, type WorkerOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import { flag, valued } from './option.ts';
import { agentOptions, debugOption, noStoreOption, storeOption, withExamples } from './shared.ts';

/** Where it listens if nobody says. */
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7433;

const LOOP_WORDS =
  'The loops are those of --loop, or of the looprig.config.ts of this folder, or else that of "looprig run".';

const engineOption = () =>
  valued(
    '--engine <URL>',
    'where turns run: restate://HOST:PORT or pg-boss://USER:PASSWORD@HOST/DATABASE (default: in this process)',
  );

function noTurnsOption(): Option {
  const option = flag('--no-turns', 'with --engine: run no turns in this process, leave them to workers');
  option.negate = false; // a name of its own, not the contrary of another one
  return option;
}

export function declareServe(command: Command, choose: Choose): void {
  command
    .summary('sessions over HTTP, with a page to watch them in')
    .description(
      `Serves sessions over HTTP, with a page that shows them as they run and answers what they ask. ${LOOP_WORDS} Ctrl-C ends it: turns that are under way have five seconds, and are taken up by the next one if they are not over.`,
    )
    .addOption(
      valued('--host <ADDRESS>', 'where to listen; all but this machine itself needs a token').default(DEFAULT_HOST),
    )
    .addOption(valued('--port <N>', 'the port; 0 is one that is free', readPort).default(DEFAULT_PORT))
    .addOption(valued('--token <TEXT>', 'what requests must bring, at least 16 characters (better: LOOPRIG_TOKEN)'))
    .addOption(engineOption())
    .addOption(noTurnsOption())
    .addOption(flag('--all', 'list the sessions of other folders and loops in the store, too'))
    .action(({ debug: _, ...flags }: Partial<ServeOptions> & { debug?: true }) => {
      const given = {
        host: DEFAULT_HOST,
        port: DEFAULT_PORT,
        token: undefined,
        engine: undefined,
        noTurns: false,
        all: false,
      };
      if (flags.noTurns && flags.engine === undefined) {
        throw new UsageError('--no-turns leaves turns to workers: say with --engine where they are');
      }
      choose({ command: 'serve', options: Object.freeze({ ...NO_TURN_OPTIONS, ...given, ...flags }) });
    });
  for (const option of [...agentOptions(), storeOption(), noStoreOption(), debugOption()]) command.addOption(option);
  withExamples(command, [
    'looprig serve',
    'looprig serve --loop shop/looprig.config.ts --port 0',
    'looprig serve --model anthropic/claude-sonnet-4-5 --workspace ./project',
  ]);
}

export function declareWorker(command: Command, choose: Choose): void {
  command
    .summary('run the turns of an engine, without a server')
    .description(
      `Runs turns that an engine gives out, beside "looprig serve --engine" and other workers on the same store. ${LOOP_WORDS}`,
    )
    .addOption(engineOption().makeOptionMandatory())
    .action(({ debug: _, ...flags }: Partial<WorkerOptions> & { engine: string; debug?: true }) => {
      choose({ command: 'worker', options: Object.freeze({ ...NO_TURN_OPTIONS, ...flags }) });
    });
  for (const option of [...agentOptions(), storeOption(), debugOption()]) command.addOption(option);
  withExamples(command, ['looprig worker --engine restate://localhost:8080 --store postgres://me@db/work']);
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--port must be a whole number from 0 to 65535, not "${text}"`);
}
