/**
 * What each recording is expected to come to, by generation of the packages. Every entry is taken from the recorded bodies or from what
 * looprig promises; where a package does less than the recording has, the entry says so with the reason.
 */
import type { Entry, ExpectedTurn, Playing } from './expected.ts';

const answer = (responses: number): ExpectedTurn => ({ ends: 'answer', responses });
const takenByTool = (responses: number): ExpectedTurn => ({ ends: 'ended by its tool', responses });
const asksOn = (responses: number): ExpectedTurn => ({ ends: 'asks on', responses });

/** A response that only asks for an approval has neither text nor calls. */
const unanswered: ExpectedTurn = { ends: 'empty_response', responses: 1 };

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** The batch over a limit does not run, and the recorded answer is the closing one. */
function closing(iterations: number, responses: number, refusedFrom: number): Playing {
  return {
    title: 'with a closing answer at a limit',
    options: { repeat: false, limits: { iterations }, atLimit: 'answer' },
    turns: [{ ends: 'answer at a limit', responses }],
    refused: new RegExp(`not run: .*, ${iterations} (?:is|are) allowed in one turn`),
    refusedFrom,
    closing: 'tools off',
  };
}

/** By name. */
export const EXPECTED: Readonly<Record<string, Entry>> = {
  'anthropic-json-parallel-4': {
    shows: 'four calls of one tool in one response',
    calls: [times(4, 'retrieve_entity_info'), []],
    plays: [{ turns: [answer(2)] }],
  },
  'anthropic-json-research-10-steps': {
    shows: 'ten steps over three tools, one call with a long argument of many lines',
    calls: [...times(6, ['web_search']), ...times(2, ['read_website']), ['generate_report'], []],
    plays: [
      { turns: [answer(10)] },
      {
        ...closing(8, 10, 8),
        differences: { 5: { why: 'the package leaves out the tools where none may be called', closing: 'no tools' } },
      },
    ],
  },
  'anthropic-stream-empty-text': {
    shows: 'an answer that is one empty text, then a turn as usual',
    calls: [[], []],
    plays: [{ turns: [{ ends: 'empty_response', responses: 1 }, answer(1)], kept: [1], counted: [0, 1] }],
  },
  'anthropic-stream-image-tool-result': {
    shows: 'a result that is an image',
    calls: [['computer'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'anthropic-stream-mcp-connector': {
    shows: 'a tool of an MCP server that the provider runs',
    calls: [[]],
    plays: [
      {
        turns: [answer(1)],
        differences: {
          5: {
            why: 'the package does not know the blocks of a provider-run MCP call',
            unreadable: 'AI_TypeValidationError',
            turns: [{ ends: 'stream_broken', responses: 1 }],
            counted: [0],
          },
        },
      },
    ],
  },
  'anthropic-stream-parallel-no-args': {
    shows: 'two calls of a tool without parameters, whose arguments are an empty text',
    calls: [times(2, 'pelican_name_generator'), []],
    plays: [{ turns: [answer(2)] }],
  },
  'anthropic-stream-server-tool-search': {
    shows: 'a search for tools that the provider runs, beside a call of the tool it found',
    calls: [['get_exchange_rate'], []],
    plays: [
      {
        turns: [answer(2)],
        differences: {
          5: {
            why: 'the package does not know the result of a provider-run search for tools',
            unreadable: 'AI_TypeValidationError',
            turns: [{ ends: 'stream_broken', responses: 1 }],
            counted: [0],
          },
        },
      },
    ],
  },
  'anthropic-stream-thinking-signature': {
    shows: 'signed thinking before a call',
    calls: [['weather'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'compat-databricks-stream-empty-args': {
    shows: 'two user turns, arguments that are the empty text to the end',
    calls: [['get_date'], [], ['get_date'], []],
    plays: [{ turns: [answer(2), answer(2)] }],
  },
  'compat-deepseek-json-reasoning': {
    shows: 'reasoning that goes back, parallel calls, cached and reasoning tokens',
    calls: [['load_capability'], ['get_player_name', 'roll_dice'], []],
    plays: [{ turns: [answer(3)] }, closing(1, 3, 1)],
  },
  'compat-groq-json-400-tool-use-failed': {
    shows: 'status 400 for a call that the provider rejected; the session is continued after it',
    calls: [[], ['get_something_by_name'], []],
    plays: [
      {
        turns: [
          { ends: 'request_failed', responses: 1 },
          { ends: 'answer', responses: 2, continues: true },
        ],
        kept: [1, 2],
      },
    ],
  },
  'compat-groq-stream-parallel': {
    shows: 'call ids with dots and colons in them',
    calls: [['add', 'multiply'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'compat-kimi-stream-no-finish-reason': {
    shows: 'a stream with a call that ends without a finish reason: it is asked for again, and the call is not run',
    calls: [['llm_version'], []],
    plays: [
      {
        // A stream that ends in an error is tried again, and no call of it runs: the second response answers the second try.
        turns: [{ ends: 'answer', responses: 2, retries: 1 }],
        kept: [1],
        differences: {
          5: {
            why: 'the package reports the missing finish reason as no error: the call runs',
            turns: [answer(2)],
            kept: [0, 1],
          },
        },
      },
    ],
  },
  'compat-llamacpp-stream-reasoning': {
    shows: 'reasoning deltas before a call',
    calls: [['weather'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'compat-mistral-json-unicode-args': {
    shows: 'long arguments with accents, line ends and markdown',
    calls: [['final_result']],
    outputTool: 'final_result',
    plays: [{ turns: [takenByTool(1)] }],
  },
  'compat-ollama-stream-multi-turn': {
    shows: 'two user turns, long reasoning, whole arguments in one piece',
    calls: [['weather'], [], ['weather'], []],
    plays: [{ turns: [answer(2), answer(2)] }],
  },
  'compat-openrouter-stream-reasoning-details': {
    shows: 'signed reasoning in a field of the gateway’s own, comment lines in the stream',
    calls: [['reasoning_weather'], []],
    plays: [
      {
        turns: [answer(2)],
        differences: Object.fromEntries(
          ([7, 6, 5] as const).map(generation => [
            generation,
            { why: 'the generic package does not read the signature; the reasoning itself goes back', sealsLost: 1 },
          ]),
        ),
      },
    ],
  },
  'derived-anthropic-stream-max-tokens-in-call': {
    shows: 'a response that the output limit cuts off inside of a call: the call is not run',
    calls: [['weather']],
    plays: [{ turns: [asksOn(1)], refused: /not run: your response was cut off by the output limit/ }],
  },
  'gemini-json-builtin-and-function': {
    shows: 'a built-in search beside a call, with a signature of 47 kB',
    calls: [['calculator'], []],
    plays: [
      {
        turns: [answer(2)],
        differences: {
          5: {
            why: 'the package passes over the parts of built-in tools, and their signatures with them',
            serverCalls: 0,
            sealsLost: 2,
          },
        },
      },
    ],
  },
  'gemini-json-parallel-no-ids': {
    shows: 'parallel calls without ids, a signature with each step',
    calls: [times(3, 'generate_topic'), ...times(3, ['generate_topic']), ['final_result']],
    outputTool: 'final_result',
    plays: [{ turns: [takenByTool(5)] }],
  },
  'gemini-stream-code-execution': {
    shows: 'code that the provider runs',
    calls: [[]],
    plays: [
      {
        turns: [answer(1)],
        differences: {
          6: { why: 'the package does not count what the provider’s tools put in', inputTokensLost: 360 },
          5: {
            why: 'the package takes what the provider ran for calls',
            turns: [{ ends: 'answer, tool-calls', responses: 1 }],
          },
        },
      },
    ],
  },
  'gemini-stream-parallel-signature': {
    shows: 'two parallel calls of which the first is signed, an empty text at the end',
    calls: [['add', 'multiply'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'gemini-stream-same-call-6-times': {
    shows: 'the same call with the same result six times in a row',
    calls: [...times(6, ['double']), []],
    plays: [
      { options: { repeat: false }, turns: [answer(7)] },
      closing(5, 7, 5),
      { title: 'with an end for repeated calls', warnsFrom: 3, turns: [{ ends: 'tool_limit', responses: 6 }] },
    ],
  },
  'openai-chat-json-tool-limit': {
    shows: 'calls that the model repeats because they were left undone',
    calls: [times(4, 'counting_tool'), times(3, 'counting_tool'), ...times(2, ['counting_tool']), []],
    plays: [
      { turns: [answer(5)] },
      closing(3, 5, 8),
      {
        title: 'with a limit below the first batch',
        options: { limits: { calls: 3 } },
        turns: [{ ends: 'tool_limit', responses: 1 }],
        kept: [],
        counted: [0],
      },
    ],
  },
  'openai-chat-stream-19-tools': {
    shows: 'an output tool with nested arguments as the answer',
    calls: [['get_country', 'get_product_name'], ['get_weather'], ['final_result']],
    outputTool: 'final_result',
    plays: [{ turns: [takenByTool(3)] }],
  },
  'openai-chat-stream-parallel': {
    shows: 'two parallel calls in many pieces',
    calls: [['add', 'multiply'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'openai-responses-json-custom-tool': {
    shows: 'a tool whose input is free text and no JSON object: its call is refused',
    calls: [['math_exp']],
    plays: [
      {
        turns: [asksOn(1)],
        refused: /the arguments must be a JSON object, not a string/,
        differences: {
          5: {
            why: 'the package does not know calls with free text',
            unreadable: 'AI_APICallError',
            turns: [{ ends: 'request_failed', responses: 1 }],
          },
        },
      },
    ],
  },
  'openai-responses-json-interleaved-reasoning': {
    shows: 'encrypted reasoning before each batch, the last one of five calls',
    calls: [...times(3, ['db_lookup']), times(5, 'db_lookup')],
    plays: [
      { turns: [asksOn(4)] },
      {
        title: 'with the limit that the recorded client had',
        options: { limits: { iterations: 3 } },
        turns: [{ ends: 'tool_limit', responses: 4 }],
        kept: [0, 1, 2],
        counted: [0, 1, 2, 3],
      },
    ],
  },
  'openai-responses-stream-encrypted-reasoning': {
    shows: 'encrypted reasoning that the provider does not keep',
    calls: [['weather'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'openai-responses-stream-handoff-5-steps': {
    shows: 'five steps, the first of them a hand-off',
    calls: [['transfer_to_analytics_agent'], ['analyze_data'], ['process_results'], ['generate_report'], []],
    plays: [{ turns: [answer(5)] }, closing(3, 5, 3)],
  },
  'openai-responses-stream-mcp-approval': {
    shows: 'an MCP tool that the provider runs only when a person allows it, which looprig does not pass on',
    calls: [[], [], [], []],
    plays: [
      {
        inputs: times(4, 'Go.'),
        turns: [unanswered, answer(1), unanswered, answer(1)],
        kept: [1, 3],
        counted: [0, 1, 2, 3],
        differences: {
          5: { why: 'the package passes over tools of MCP servers that the provider runs', serverCalls: 0 },
        },
      },
    ],
  },
  'openai-responses-stream-parallel-reasoning': {
    shows: 'an empty reasoning item before two parallel calls',
    calls: [['add', 'multiply'], []],
    plays: [{ turns: [answer(2)] }],
  },
  'openai-responses-stream-refusal': {
    shows: 'a refusal',
    calls: [[]],
    plays: [
      {
        turns: [{ ends: 'answer, content-filter', responses: 1 }],
        differences: {
          5: {
            why: 'the package passes over a refusal',
            turns: [{ ends: 'empty_response', responses: 1 }],
            kept: [],
            counted: [0],
          },
        },
      },
    ],
  },
  'openai-responses-stream-tool-search': {
    shows: 'a search for tools that the provider runs, before a call of the tool it found',
    calls: [['get_exchange_rate'], []],
    plays: [
      {
        turns: [answer(2)],
        differences: { 5: { why: 'the package passes over the search for tools', serverCalls: 0 } },
      },
    ],
  },
};
