/** What the program says of itself. */
import { LIMIT_NAMES } from './limit-option.ts';

/** `looprig --help`. */
export const HELP: string = `looprig: an agent loop whose tool use is bounded, honest and durable

Usage
  looprig run ["prompt"] [options]   work on a folder, once
  looprig run --help                 all options
  looprig --version

Examples
  looprig run                        the offline demo model looks at this folder
  looprig run "Where are the tests?" --workspace ./project
`;

/** `looprig run --help`. */
export const RUN_HELP: string = `Usage: looprig run ["prompt"] [options]

Runs one turn on a folder, with tools that list, search, read, write and edit its files.

Options
  --workspace DIR    the folder to work in (default: this one)
  --model MODEL      demo (default: offline, works by rule), anthropic/NAME,
                     openai/NAME, google/NAME, compatible:URL#NAME, replay:FILE
  --limits A=N,B=N   ${LIMIT_NAMES.split(', ').slice(0, 4).join(', ')},
                     ${LIMIT_NAMES.split(', ').slice(4).join(', ')}
  --mode MODE        base (default) or read-only
  --approve WHAT     all: allow what tools declare; none (default): deny it
  --allow-commands   offer the tool that runs programs
  --no-stream        ask for whole responses
  --reasoning LEVEL  how much the model is to think, and that it shows it:
                     none, minimal, low, medium or high (default: as the
                     provider has it)
  --hide-reasoning   do not show what the model thinks
  --json             events on standard output, one a line, then the result
  --quiet            the answer and nothing else
  --debug            show where an error came from
  -h, --help

The answer goes to standard output, everything else to standard error.
Keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, and
LOOPRIG_API_KEY for compatible:URL#NAME. Other addresses: ANTHROPIC_BASE_URL,
OPENAI_BASE_URL, GOOGLE_GENERATIVE_AI_BASE_URL. Ctrl-C interrupts, twice quits.

Exit status
  0 done   1 failed   2 wrong usage   3 a limit was reached
  4 calls were denied because nobody could be asked   130 interrupted

Examples
  looprig run
  looprig run "What does this project do?" --workspace ./project > answer.txt
  looprig run "Fix the typo in README.md" --model anthropic/claude-sonnet-4-5 --approve all
  looprig run "List the tests" --limits calls=20,parallel=4 --json
`;
