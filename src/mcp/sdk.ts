/** The protocol's own client, a package that only those install who use MCP. */
import { McpError } from './errors.ts';

/** What the package exports. */
export type Sdk = typeof import('@modelcontextprotocol/client');

/** Imports the package. Throws `McpError` `missing_package` where it is not installed. */
export async function loadSdk(server: string): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/client');
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `MCP server "${server}" needs the package @modelcontextprotocol/client, which is not installed: npm install @modelcontextprotocol/client@2`;
    throw new McpError('missing_package', server, message, { cause });
  }
}
