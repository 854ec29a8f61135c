/** What goes wrong with an MCP server before a loop runs. What goes wrong in a call is a result that the model reads. */
import { brandClass, LooprigError } from '../looprig-error.ts';

/** Why the tools of an MCP server cannot be had. */
export type McpErrorKind =
  /** `@modelcontextprotocol/client` is not installed. */
  | 'missing_package'
  /** The server did not start, could not be reached, or did not finish its handshake. */
  | 'not_connected'
  /** It did not list its tools, or without an end. */
  | 'not_listed'
  /** What it lists cannot be offered: nothing, too much, or not what `include` and `exclude` name. */
  | 'unusable_tools';

/** The tools of an MCP server cannot be had. The message says which server, and what it last said; never a value of `env` or `headers`. */
export class McpError extends LooprigError<McpErrorKind> {
  /** The name of the server, as it was given. */
  readonly server: string;

  static {
    brandClass(McpError.prototype, 'McpError');
  }

  constructor(kind: McpErrorKind, server: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(kind, message, options);
    this.server = server;
  }
}
