/** What the program says of itself. */
import { LIMIT_NAMES } from './limit-option.ts';

const EXIT_STATUS = `Exit status
  0 done   1 failed   2 wrong usage   3 a limit was reached
  4 calls were denied because nobody could be asked
  5 the turn waits for an answer   6 another process uses the session
  130 interrupted   143 ended by SIGTERM
`;

const STORE_OPTION = `  --store FILE       where sessions are kept (default: LOOPRIG_STORE, or
                     looprig/sessions.db where this platform keeps data)`;

const SESSION_WORDS = `ID is what "looprig sessions" shows, any beginning or end of a session's id that
fits only one, or "last".`;

/** `looprig --help`. */
export const HELP: string = `looprig: an agent loop whose tool use is bounded, honest and durable

Usage
  looprig run ["prompt"] [options]   work on a folder, once
  looprig run --session ID "prompt"  go on in a session
  looprig sessions                   what was worked on, the latest first
  looprig show ID                    a session from its beginning
  looprig resume ID                  take up a turn that was cut short
  looprig answer ID [GATE] yes|no    answer what a turn waits for
  looprig COMMAND --help             all options
  looprig --version

${SESSION_WORDS}

Examples
  looprig run                        the offline demo model looks at this folder
  looprig run "Where are the tests?" --workspace ./project
  looprig show last
`;

/** `looprig run --help`. */
export const RUN_HELP: string = `Usage: looprig run ["prompt"] [options]

Runs one turn on a folder, with tools that list, search, read, write and edit its files.

Options
  --workspace DIR    the folder to work in (default: this one)
  --model MODEL      demo (default: offline, works by rule), anthropic/NAME,
                     openai/NAME, google/NAME, compatible:URL#NAME, replay:FILE
  --session ID       go on in this session, with its folder and its model where
                     no others are given ("last": the latest)
  --limits A=N,B=N   ${LIMIT_NAMES.split(', ').slice(0, 4).join(', ')},
                     ${LIMIT_NAMES.split(', ').slice(4).join(', ')}
  --mode MODE        base (default) or read-only
  --approve WHAT     what calls may do that declare it. ask: a person is asked,
                     and where nobody can be, the turn waits (status 5); all:
                     allow it; none: deny it (default: ask in a terminal, else
                     none)
  --allow-commands   offer the tool that runs programs
  --mcp SERVER       offer the tools of an MCP server: a command in quotes, or
                     an address; may be given again
  --no-stream        ask for whole responses
  --reasoning LEVEL  how much the model is to think, and that it shows it:
                     none, minimal, low, medium or high (default: as the
                     provider has it)
  --hide-reasoning   do not show what the model thinks
${STORE_OPTION}
  --no-store         keep nothing
  --json             events on standard output, one a line, then the result
  --quiet            the answer and nothing else
  --debug            show where an error came from
  -h, --help

The answer goes to standard output, everything else to standard error.
Keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, and
LOOPRIG_API_KEY for compatible:URL#NAME. Other addresses: ANTHROPIC_BASE_URL,
OPENAI_BASE_URL, GOOGLE_GENERATIVE_AI_BASE_URL. Ctrl-C interrupts, twice quits.

${EXIT_STATUS}
Examples
  looprig run
  looprig run "What does this project do?" --workspace ./project > answer.txt
  looprig run "Fix the typo in README.md" --model anthropic/claude-sonnet-4-5
  looprig run --session last "And where is that tested?"
  looprig run "List the tests" --limits calls=20,parallel=4 --json
`;

/** `looprig sessions --help`. */
export const SESSIONS_HELP: string = `Usage: looprig sessions [options]

Lists sessions, the last written first: done, failed, interrupted, unfinished
(its process ended in the middle), waiting (for an answer of yours), or running
elsewhere.

Options
  --limit N          how many (default: 20)
${STORE_OPTION}
  --json             one session a line, whole
  --debug            show where an error came from
  -h, --help
`;

/** `looprig show --help`. */
export const SHOW_HELP: string = `Usage: looprig show ID [options]

Shows a session from its beginning: what was said, calls with the beginning of
their results, usage, and what is left to do.

${SESSION_WORDS}

Options
${STORE_OPTION}
  --json             the session, then every event, one a line
  --debug            show where an error came from
  -h, --help
`;

/** `looprig resume --help`. */
export const RESUME_HELP: string = `Usage: looprig resume ID [options]

Takes up the turn that a process left unfinished. Results that are known are
used; a call that had started does not run again, unless its tool says that it
may, and is told to the model as unknown. The folder and the model are those of
the session, where no others are given. With nothing to resume the status is 0.

${SESSION_WORDS}

Options
  --approve WHAT     ask, all or none, as for "looprig run"; all and none also
                     answer the questions that are open
  --workspace DIR    another folder
  --model MODEL      another model
  --allow-commands   offer the tool that runs programs
  --mcp SERVER       offer the tools of an MCP server: a command in quotes, or
                     an address; may be given again
  --no-stream        ask for whole responses
  --reasoning LEVEL  none, minimal, low, medium or high
  --hide-reasoning   do not show what the model thinks
${STORE_OPTION}
  --json             events on standard output, one a line, then the result
  --quiet            the answer and nothing else
  --debug            show where an error came from
  -h, --help

${EXIT_STATUS}`;

/** `looprig answer --help`. */
export const ANSWER_HELP: string = `Usage: looprig answer ID [GATE] yes|no|always [options]

Answers what a call of an unfinished turn asks, from any process, at any time.
The answer is kept; "looprig resume ID" goes on with it.
  yes      the call may do what it asks, once
  no       it may not, and the model is told so
  always   it may, and so may every like call of this session

${SESSION_WORDS}
GATE is needed where several are open: "looprig show ID" lists them; "all" is
all of them.

Options
  --reason TEXT      with no: why, for the model
${STORE_OPTION}
  --json             what was answered, as one line
  --debug            show where an error came from
  -h, --help
`;
