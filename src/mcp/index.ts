/**
 * `looprig/mcp`: the tools of MCP servers, over stdio and Streamable HTTP. Needs the package `@modelcontextprotocol/client`, version 2.
 *
 * A server is a stranger: what it lists and answers is bounded and checked, and what it does is its own.
 */

export { McpError, type McpErrorKind } from './errors.ts';
export { MCP_CALL_ACTION } from './live-tools.ts';
export type {
  McpCommandOptions,
  McpElicitation,
  McpElicitationAnswer,
  McpNotice,
  McpToolsetOptions,
  McpUrlOptions,
} from './options.ts';
export { parseMcpServer } from './server-text.ts';
export { type McpToolInfo, type McpToolset, mcpToolset } from './toolset.ts';
