/** All public functions that take options read them in one way: what is unknown is refused, and the refusal says what there is. */
import { readFileSync } from 'node:fs';
import * as core from 'looprig';
import { delegate, LooprigError, memoryStore, type TurnEvent } from 'looprig';
import * as ai from 'looprig/ai';
import * as config from 'looprig/config';
import * as engines from 'looprig/engines';
import * as mcp from 'looprig/mcp';
import * as middleware from 'looprig/middleware';
import * as otel from 'looprig/otel';
import * as pgBoss from 'looprig/pg-boss';
import * as postgres from 'looprig/postgres';
import * as report from 'looprig/report';
import * as restate from 'looprig/restate';
import * as server from 'looprig/server';
import * as sqlite from 'looprig/sqlite';
import * as store from 'looprig/store';
import * as testing from 'looprig/testing';
import * as workspace from 'looprig/workspace';
import { describe, expect, it } from 'vitest';

/** A function with its options left to the test, and options that it takes. */
interface Reader {
  readonly given: object;
  /** Whether it can be called without options. */
  readonly isOptional?: boolean;
  /** Texts and lists mean something of their own. */
  readonly takesOthers?: boolean;
  read(options: never): unknown;
}

const loop = core.defineLoop({ name: 'talker', model: testing.scriptedModel([]), system: '' });
const rig = core.defineRig({ loops: [loop] });
/** One that only asks: what is refused is refused before a worker sees it. */
const host = engines.createHost({ rig, engine: engines.localEngine() });
const URL_OF_DATABASE = 'postgres://somebody@127.0.0.1:1/nowhere';
const tools = ['search'];
const execute = () => 'ok';
const TURN: ai.ToldTurn = {
  id: 'turn',
  subscribe: () => (async function* (): AsyncGenerator<TurnEvent, undefined> {})(),
};
const RECORDING = { name: 'none', provider: 'openai', api: 'openai-chat', model: 'none', exchanges: [] };
const required = (given: object, read: Reader['read']): Reader => ({ given, read });
const optional = (given: object, read: Reader['read']): Reader => ({ given, read, isOptional: true });

/** Every exported function that takes options. */
const READERS: Readonly<Record<string, Reader>> = {
  defineLoop: required({ name: 'a', model: testing.scriptedModel([]), system: '' }, options =>
    core.defineLoop(options),
  ),
  defineRig: required({ loops: [loop] }, options => core.defineRig(options)),
  defineTool: required({ name: 'a', description: 'b', input: { type: 'object' }, execute }, options =>
    core.defineTool(options),
  ),
  defineToolset: required({ name: 'a', produces: ['b'], create: () => [] }, options => core.defineToolset(options)),
  delegate: required({ description: 'b' }, options => delegate(loop, options)),
  chatStream: optional({ sendReasoning: false }, async options => {
    await using session = await rig.open();
    return ai.chatStream(session, { messages: [] }, options);
  }),
  fromAISDK: optional({ toolsContext: {} }, options => ai.fromAISDK({}, options)),
  toAISDK: optional({ mode: '' }, async options => {
    await using bound = await loop.bind({ sessionId: 'session', loopId: 'loop' });
    return ai.toAISDK(bound, options);
  }),
  toUIMessageStream: optional({ sendReasoning: false }, options => ai.toUIMessageStream(TURN, options)),
  defineConfig: required({ loops: [loop] }, options => config.defineConfig(options)),
  createHost: required({ rig, engine: engines.localEngine() }, options => engines.createHost(options)),
  localEngine: optional({ parallel: 1 }, options => engines.localEngine(options)),
  mcpToolset: required({ name: 'a', command: 'b' }, options => mcp.mcpToolset(options)),
  cache: required({ tools }, options => middleware.cache(options)),
  logCalls: optional({ arguments: true }, options => middleware.logCalls(options)),
  rateLimit: required({ calls: 1, perMs: 1 }, options => middleware.rateLimit(options)),
  redact: optional({}, options => middleware.redact(options)),
  retry: required({ tools }, options => middleware.retry(options)),
  openTelemetry: optional({ content: true }, options => otel.openTelemetry(options)),
  pgBoss: required({ url: URL_OF_DATABASE }, options => pgBoss.pgBoss(options)),
  postgresStore: required({ url: URL_OF_DATABASE }, options => postgres.postgresStore(options)),
  migrate: required({ url: URL_OF_DATABASE }, options => postgres.migrate(options)),
  reportHtml: optional({ title: 'a' }, options => report.reportHtml(report.viewOf([]), options)),
  restate: required({ ingressUrl: 'http://127.0.0.1:1' }, options => restate.restate(options)),
  createServer: optional({ bodyBytes: 1 }, options => server.createServer(rig, options)),
  listen: optional({ port: 0 }, options => server.listen(rig, options)),
  sqliteStore: required({ file: 'never-opened.db' }, options => sqlite.sqliteStore(options)),
  engineKit: optional({ workers: 1 }, options => testing.engineKit(() => Promise.reject(new Error('no lab')), options)),
  deleteSession: optional({ unfinished: true }, async options => {
    const store = memoryStore();
    const sessionId = await core.defineRig({ loops: [loop], store }).begin();
    await core.deleteSession(store, sessionId, options);
  }),
  journalStoreKit: optional({}, options => testing.journalStoreKit(memoryStore, options)),
  replayModel: optional({ split: 'whole' }, options => testing.replayModel(RECORDING, options)),
  scriptedTool: { ...optional({ returns: 'a' }, options => testing.scriptedTool('a', options)), takesOthers: true },
  defineRunCommand: optional({ shell: true }, options => workspace.defineRunCommand(options)),
  workspaceTools: optional({ readOnly: true }, options => workspace.workspaceTools(options)),
};

/** Methods that take options. */
const METHODS: Readonly<Record<string, Reader>> = {
  'rig.open': optional({ resume: 'manual' }, options => rig.open(options)),
  'rig.sessions': optional({ limit: 1 }, options => rig.sessions(options)),
  'rig.delete': optional({ unfinished: true }, async options => {
    await rig.delete(await rig.begin(), options);
  }),
  'rig.begin': optional({ mode: '' }, options => rig.begin(options)),
  'session.submit': optional({ queue: 'queue' }, async options => (await rig.open()).submit('Go.', options)),
  'session.run': optional({ queue: 'queue' }, async options => (await rig.open()).run('Go.', options)),
  'session.steer': optional({ limits: {} }, async options => (await rig.open()).steer('Go.', options)),
  'session.continue': optional({ limits: {} }, async options => (await rig.open()).continue(options)),
  'session.release': optional({ graceMs: 0 }, async options => (await rig.open()).release(options)),
  'host.begin': optional({ mode: '' }, options => host.begin(options)),
  'host.list': optional({ limit: 1 }, options => host.list(options)),
  'host.submit': optional({ limits: {} }, async options => host.submit(await host.begin(), 'Go.', options)),
  'host.steer': optional({ limits: {} }, async options => host.steer(await host.begin(), 'Go.', options)),
  'host.interrupt': optional({ reason: 'a' }, async options => host.interrupt(await host.begin(), options)),
  'host.events': optional({ after: 0 }, async options =>
    host
      .events(await host.begin(), options)
      [Symbol.asyncIterator]()
      .next(),
  ),
  'host.close': optional({ graceMs: 0 }, options =>
    engines.createHost({ rig, engine: engines.localEngine() }).close(options),
  ),
  'session.resume': optional({ budget: undefined }, async options => (await rig.open()).resume(options)),
};

/** The other exported functions: what they take is a value, or what a running tool gives, which is checked where it is used. */
const OTHERS: readonly string[] = [
  ...['assertNever', 'delegateEventOf', 'isTerminal', 'isToolResult', 'liveTool', 'memoryStore', 'recordedEvents'],
  ...['toolError', 'toolResult'],
  ...['answersFrom', 'toUIMessages', 'engineFromUrl', 'parseMcpServer', 'traceTools'],
  ...['readSession', 'reportJson', 'viewOf', 'serverMetrics'],
  ...['mailOfText', 'recordsOfText', 'requireGapFree', 'textOfMail', 'textOfRecords'],
  ...['assertPaired', 'collect', 'engineKitLoops', 'faultyStore', 'forever', 'manualClock', 'recordedTools'],
  ...['scriptedModel', 'standInTools'],
  ...['deletedMeanwhile', 'invalidPlace', 'summariseSession'],
];

async function refusalOf({ read }: Reader, options: unknown): Promise<unknown> {
  try {
    await read(options as never);
  } catch (error) {
    return error;
  }
  return undefined;
}

const readers = Object.entries({ ...READERS, ...METHODS });

it('every exported function either reads options, or takes none', () => {
  const entries = { core, ai, config, engines, mcp, middleware, otel, pgBoss, postgres, report, restate };
  const modules = { ...entries, server, sqlite, store, testing, workspace };
  const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const paths = Object.keys(exports).filter(path => path !== './package.json' && !path.startsWith('./middleware/'));
  expect(Object.keys(modules)).toHaveLength(paths.length);
  const names = Object.values(modules)
    .flatMap(module => Object.entries(module))
    .filter(([, value]) => typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value)))
    .map(([name]) => name);
  expect([...Object.keys(READERS), ...OTHERS].sort()).toEqual([...new Set(names)].sort());
});

describe.each(readers)('%s', (name, reader) => {
  const isOurs = (error: unknown): boolean => LooprigError.is(error) || (name in testing && error instanceof TypeError);

  it('refuses an option that there is none of, and says which there are', async () => {
    const error = await refusalOf(reader, { ...reader.given, surprise: 'open-sesame' });
    expect(String(error)).toMatch(/ has no option "surprise": it takes [a-zA-Z]/);
    expect(String(error)).not.toContain('sesame');
    expect(isOurs(error)).toBe(true);
    const known = / it takes (.*)$/.exec(String(error))?.[1]?.split(/[ ,]+/) ?? [];
    expect(known).toEqual(expect.arrayContaining(Object.keys(reader.given)));
  });

  const strange = reader.takesOthers === true ? [] : [null, 7, 'postgres://somebody:open-sesame@host/name', ['text']];
  const missing = reader.isOptional === true ? [] : [undefined];
  it.each([...strange, ...missing].map(given => ({ given })))(
    'refuses $given in the place of its options',
    async ({ given }) => {
      const error = await refusalOf(reader, given);
      expect(String(error)).toMatch(/ must be given as an object, not /);
      expect(String(error)).not.toContain('sesame');
      expect(isOurs(error)).toBe(true);
    },
  );

  it('refuses options that cannot be read, and keeps why', async () => {
    const cause = new Error('not today');
    const [option = 'surprise'] = Object.keys(reader.given);
    const given = Object.defineProperty({ ...reader.given }, option, {
      enumerable: true,
      get: () => {
        throw cause;
      },
    });
    const error = await refusalOf(reader, given);
    if (option === 'surprise') expect(String(error)).toContain('has no option');
    else expect(error).toMatchObject({ message: expect.stringContaining('cannot be read'), cause });
    expect(isOurs(error)).toBe(true);
  });
});
