/** The protocol's own client, a package that only those install who use MCP. */
import { optionalPackage } from '../optional-package.ts';
import { McpError } from './errors.ts';

/** What the package exports. */
export type Sdk = typeof import('@modelcontextprotocol/client');

/** Imports the package. Throws `McpError` `missing_package` where it is not installed. */
export function loadSdk(server: string): Promise<Sdk> {
  return optionalPackage(
    `MCP server "${server}"`,
    '@modelcontextprotocol/client@2',
    () => import('@modelcontextprotocol/client'),
    (message, options) => new McpError('missing_package', server, message, options),
  );
}
