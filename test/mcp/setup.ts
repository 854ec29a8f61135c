/** What the tests of MCP share: the odd server, sessions that use its tools, and the processes that are left. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  defineLoop,
  defineRig,
  type Session,
  type SessionEvent,
  type ToolDefinition,
  type ToolResultOutput,
} from 'looprig';
import type { McpCommandOptions, McpNotice } from 'looprig/mcp';
import {
  collect,
  type ManualClock,
  manualClock,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
  scriptedModel,
} from 'looprig/testing';

const ODD_SERVER = fileURLToPath(new URL('../support/odd-mcp-server.mjs', import.meta.url));

/** The odd server, under its name. */
export function odd(options: Partial<McpCommandOptions> = {}): McpCommandOptions {
  return { name: 'odd', command: process.execPath, args: [ODD_SERVER], ...options };
}

/** A server whose program is this text. */
export function serverOf(program: string, options: Partial<McpCommandOptions> = {}): McpCommandOptions {
  return {
    name: 'made',
    command: process.execPath,
    args: ['--input-type=module', '-e', program],
    graceMs: 200,
    ...options,
  };
}

/**
 * A program of a server that speaks the protocol as it should: `tools` is the text of a list, `call` the body of an async function of
 * the request's `params` and `id`, which gives the result.
 */
export function wellBehaved(tools: string, call: string, more = ''): string {
  return `
    import { createInterface } from 'node:readline';
    const out = v => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...v }) + '\\n');
    let tools = ${tools};
    const call = async (params, id) => { ${call} };
    createInterface({ input: process.stdin }).on('line', async line => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') out({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'made', version: '1' } } });
      else if (method === 'tools/list') out({ id, result: { tools } });
      else if (method === 'tools/call') { const result = await call(params, id); if (result !== undefined) out({ id, result }); }
    }).on('close', () => process.exit(0));
    ${more}
  `;
}

export interface Opened extends AsyncDisposable {
  readonly session: Session;
  readonly model: ScriptedModel;
  /** Moves only when a test moves it: servers are real, and take real time. */
  readonly clock: ManualClock;
  readonly events: readonly SessionEvent[];
}

/** Opens a session of one loop with these tools. Every call is allowed unless `gate` says otherwise. */
export async function open(
  tools: readonly ToolDefinition[],
  replies: readonly ScriptedReply[],
  { gate, limits }: Partial<Pick<Parameters<typeof defineLoop>[0], 'gate' | 'limits'>> = {},
): Promise<Opened> {
  const events: SessionEvent[] = [];
  const model = scriptedModel(replies);
  const clock = manualClock();
  const rules = gate ?? { rules: [{ action: 'mcp.call', target: '**', decision: 'allow' as const }] };
  const loop = defineLoop({ name: 'mcp', model, tools, gate: rules, ...(limits === undefined ? {} : { limits }) });
  const rig = defineRig({ loops: [loop], clock, observers: [event => void events.push(event)] });
  const session = await rig.open();
  return { session, model, clock, events, [Symbol.asyncDispose]: () => session.close() };
}

/** Opens a session, runs one turn in which the model makes these calls, closes it, and gives the results in call order. */
export async function outputsOf(
  tools: readonly ToolDefinition[],
  calls: readonly ScriptedCall[],
  options: Parameters<typeof open>[2] = {},
): Promise<readonly ToolResultOutput[]> {
  await using opened = await open(tools, [{ calls }, { text: 'done' }], options);
  const { result } = await collect(opened.session.submit('go'));
  if (result.status !== 'done') throw new Error(`the turn ended ${result.status}`);
  return outputsIn(opened.events);
}

/** The results of all calls, in the order of their calls. */
export function outputsIn(events: readonly SessionEvent[]): readonly ToolResultOutput[] {
  const called = events.flatMap(event => (event.type === 'tool.called' ? [event.callId] : []));
  const outputs = new Map(
    events.flatMap(event => (event.type === 'tool.completed' ? [[event.callId, event.output] as const] : [])),
  );
  return called.flatMap(id => outputs.get(id) ?? []);
}

/** The numbers of the processes that this process has started and that still run, whatever they are. */
export async function childrenOf(parent = process.pid): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number);
  const states = await Promise.all(
    pids.map(async pid => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { pid, state, ppid: Number(ppid) };
    }),
  );
  return states.filter(({ state, ppid }) => ppid === parent && state !== 'Z').map(({ pid }) => pid);
}

/** Collects notices. */
export function notices(): { readonly all: McpNotice[]; readonly onNotice: (notice: McpNotice) => void } {
  const all: McpNotice[] = [];
  return { all, onNotice: notice => void all.push(notice) };
}
