/** `mcpToolset`: a server's tools as one definition, which connects once for each session that uses it. */
import { defineToolset, type ToolDefinition } from '../define/tool.ts';
import { show } from '../show.ts';
import { openConnection } from './connection.ts';
import { McpError } from './errors.ts';
import { ServerLink } from './link.ts';
import type { ListedTool, Listing } from './listing.ts';
import { liveToolOf } from './live-tools.ts';
import { modelNames } from './names.ts';
import { type McpNotice, type McpToolsetOptions, type ResolvedMcpServer, resolveOptions } from './options.ts';

/** One tool of an MCP server, as it was listed. */
export interface McpToolInfo {
  /** The name that models call it by. */
  readonly name: string;
  /** The name that the server has for it. */
  readonly serverName: string;
  readonly description: string;
  /** The server says that it changes nothing: its calls need no permission. */
  readonly readOnly: boolean;
  /** The server says that a repeated call changes nothing more. */
  readonly idempotent: boolean;
  /** The server says that it may destroy something. */
  readonly destructive: boolean;
}

/** The tools of an MCP server, as one definition for `defineLoop`. */
export interface McpToolset extends ToolDefinition {
  /** What it offers, in the order of the server's list. */
  readonly tools: readonly McpToolInfo[];
  /** What was left out of what the server lists, and why. */
  readonly notices: readonly McpNotice[];
  /** What the server says about the use of its tools, at most 8,192 characters; empty for nothing. It is for `system`, if you trust the server so far. */
  readonly instructions: string;
}

/**
 * Lists the tools of an MCP server and gives a definition that offers them. The server is connected to for the list, and again for each
 * session. Rejects with `McpError`, and with `DefinitionError` `invalid_option`.
 */
export async function mcpToolset(options: McpToolsetOptions): Promise<McpToolset> {
  const server = resolveOptions(options);
  const { listing, instructions } = await listOnce(server);
  requireUsable(listing, server);
  const { tools } = listing;
  const names = modelNames([...tools.keys()], server.prefix);
  const links = linksOf(server, tools);
  const definition = defineToolset({
    name: server.name,
    produces: [...names.values()],
    async create() {
      const { link, release } = await links();
      return [...tools.values()].map((tool, index) => {
        const name = names.get(tool.name) ?? tool.name;
        return liveToolOf(server, link, tool, name, index === 0 ? release : undefined); // one of them lets go for all
      });
    },
  });
  for (const notice of listing.notices) server.notify(notice);
  const infos = [...tools.values()].map(tool => infoOf(tool, names.get(tool.name) ?? tool.name));
  const notices = listing.notices.map(notice => Object.freeze({ server: server.name, ...notice }));
  const told = { tools: Object.freeze(infos), notices: Object.freeze(notices), instructions };
  // Beside what can be seen of it, a definition has what only the binder looks for.
  return Object.freeze(
    Object.defineProperties({ ...told }, Object.getOwnPropertyDescriptors(definition)),
  ) as McpToolset;
}

async function listOnce(
  server: ResolvedMcpServer,
): Promise<{ readonly listing: Listing; readonly instructions: string }> {
  const connection = await openConnection(server, { listChanged: () => undefined });
  try {
    return { listing: await connection.list(), instructions: connection.instructions };
  } finally {
    await connection.close();
  }
}

/** A misspelt name would leave a tool out, or let one in, without a word. */
function requireUsable({ tools, names }: Listing, server: ResolvedMcpServer): void {
  const { name, include = [], exclude } = server;
  const refuse = (message: string): McpError => new McpError('unusable_tools', name, message);
  for (const [option, listed] of Object.entries({ include, exclude })) {
    const unknown = listed.find(tool => !names.has(tool));
    if (unknown === undefined) continue;
    const all = [...names].slice(0, 20).join(', ');
    throw refuse(`"${option}" names ${show(unknown)}, which MCP server "${name}" does not list: it lists ${all}`);
  }
  if (tools.size > 0) return;
  throw refuse(`MCP server "${name}" offers no tools${names.size > 0 ? ' but those that are excluded' : ''}`);
}

function infoOf(tool: ListedTool, name: string): McpToolInfo {
  const { description, isReadOnly: readOnly, isIdempotent: idempotent, isDestructive: destructive } = tool;
  return Object.freeze({ name, serverName: tool.name, description, readOnly, idempotent, destructive });
}

/** A connection in use, and how to let go of it. */
interface Held {
  readonly link: ServerLink;
  release(): Promise<void>;
}

/** Gives a session its connection: one of its own, or the one that all share for as long as any of them is open. */
function linksOf(server: ResolvedMcpServer, tools: ReadonlyMap<string, ListedTool>): () => Promise<Held> {
  let shared: { readonly link: ServerLink; users: number } | undefined;
  return async () => {
    const held = (server.shared ? shared : undefined) ?? { link: new ServerLink(server, tools), users: 0 };
    if (server.shared) shared = held;
    held.users++;
    const release = async (): Promise<void> => {
      held.users--;
      if (held.users > 0) return;
      if (shared === held) shared = undefined;
      await held.link.close();
    };
    try {
      await held.link.ready();
    } catch (error) {
      await release();
      throw error;
    }
    return { link: held.link, release };
  };
}
