/** `--mcp`: from commands and addresses to tools. The adapter is loaded when it is asked for, so that its package need not be installed. */
import { DefinitionError, type ToolDefinition } from '../index.ts';
import { UsageError } from './usage-error.ts';

/**
 * The tools of the servers that these lines name. Of several servers each tool has its server's name before its own. Throws `UsageError`
 * for a line that names none, and for a server that does not give its tools.
 */
export async function serverTools(lines: readonly string[]): Promise<readonly ToolDefinition[]> {
  if (lines.length === 0) return [];
  const { McpError, mcpToolset, parseMcpServer } = await import('../mcp/index.ts');
  const names = new Map<string, number>();
  const toolsets: ToolDefinition[] = [];
  for (const line of lines) {
    try {
      const server = parseMcpServer(line);
      const count = (names.get(server.name) ?? 0) + 1;
      names.set(server.name, count);
      const name = count === 1 ? server.name : `${server.name}-${count}`;
      toolsets.push(await mcpToolset({ ...server, name, ...(lines.length > 1 && { prefix: true }) }));
    } catch (cause) {
      if (!McpError.is(cause) && !DefinitionError.is(cause)) throw cause;
      throw new UsageError(`--mcp: ${cause.message}`, { cause });
    }
  }
  return toolsets;
}
