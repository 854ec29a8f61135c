/** A session's live tools: each calls its tool of the server, as the server has it at that moment. */
import type { SchemaIssue, StandardSchema, Validation } from '../define/schema.ts';
import { type AccessRequest, type ToolInfo, type ToolResult, type ToolsetTool, toolError } from '../define/tool.ts';
import type { ServerLink } from './link.ts';
import type { ListedTool } from './listing.ts';
import type { ResolvedMcpServer } from './options.ts';
import { resultFrom } from './result.ts';
import { cutTo } from './text.ts';

/** The action that a call of an MCP tool asks access for. Its target is the server's name and the tool's, with `/` between. */
export const MCP_CALL_ACTION = 'mcp.call';

/** What of an error about changed arguments the new schema may take. */
const LONGEST_SCHEMA = 600;

/** Builds the live tool named `modelName`, from what was listed for the definition; `dispose`, if there is one, is called at its end. */
export function liveToolOf(
  server: ResolvedMcpServer,
  link: ServerLink,
  declared: ListedTool,
  modelName: string,
  dispose?: () => Promise<void>,
): ToolsetTool<never> {
  const { name } = declared;
  const told = link.tool(name) ?? declared;
  const now = (): ListedTool => link.tool(name) ?? declared;
  // What was read-only once and is no longer asks; what has become so later is not believed: nobody has looked at it since.
  const isReadOnly = (): boolean => server.trustAnnotations && declared.isReadOnly && now().isReadOnly;
  const infos = new WeakMap<ListedTool, ToolInfo>();
  const infoOf = (listed: ListedTool): ToolInfo => {
    const known = infos.get(listed);
    if (known !== undefined) return known;
    const info = { name: modelName, description: listed.description, input: inputSchema(listed, link) };
    infos.set(listed, info);
    return info;
  };
  const tool: ToolsetTool<object> = {
    get info() {
      return infoOf(now()); // as long as the list is the same, the same
    },
    ...(dispose === undefined ? {} : { [Symbol.asyncDispose]: dispose }),
    // A call that changes nothing may be made again too.
    idempotent: server.trustAnnotations && (told.isReadOnly || told.isIdempotent),
    ...(server.timeoutMs === undefined ? {} : { timeoutMs: server.timeoutMs }),
    access: () => (isReadOnly() ? [] : [accessTo(server, now())]),
    async execute(input, call): Promise<ToolResult> {
      const { answer, failure } = await link.call(name, input, call);
      if (failure !== undefined) return toolError(`MCP server "${server.name}", tool "${name}": ${failure}`);
      return resultFrom(answer, { passMedia: server.passMedia, checkOutput: now().checkOutput });
    },
  };
  return tool as ToolsetTool<never>;
}

function accessTo(server: ResolvedMcpServer, { name, isDestructive }: ListedTool): AccessRequest {
  const warning = isDestructive ? ', which says that it may destroy something' : '';
  return {
    action: MCP_CALL_ACTION,
    target: `${server.name}/${name}`,
    description: `call the tool "${cutTo(name, 100)}" of the MCP server "${server.name}"${warning}`,
  };
}

/** The model is told the schema of the turn's begin; what it sends is checked against the one that the server has by then. */
function inputSchema(told: ListedTool, link: ServerLink): StandardSchema {
  const check = async (value: unknown): Promise<Validation> => {
    const now = link.tool(told.name) ?? told;
    const checked = await now.validate(value);
    if (checked.issues === undefined || now === told) return checked;
    const toldJson = JSON.stringify(told.input);
    const json = JSON.stringify(now.input);
    if (json === toldJson) return checked;
    return { issues: [changedIssue(json), ...checked.issues] };
  };
  return {
    '~standard': {
      version: 1,
      vendor: 'looprig-mcp',
      async validate(value) {
        // A server that cannot be reached fails the call, not its arguments.
        if (!link.isReady) await link.ready().catch(() => undefined);
        const { issues, ...checked } = (await check(value)) as { issues?: readonly SchemaIssue[]; value?: unknown };
        if (issues === undefined) return { value: checked.value };
        return { issues: issues.map(({ path, message }) => ({ message, path: path === '' ? [] : [path] })) };
      },
      jsonSchema: { input: () => ({ ...told.input }), output: () => ({ ...told.input }) },
    },
  };
}

function changedIssue(json: string): SchemaIssue {
  return { path: '', message: `the server has changed what it takes, to ${cutTo(json, LONGEST_SCHEMA)}` };
}
