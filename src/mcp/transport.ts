/** What both ways to a server have in common. */
import type { Transport } from '@modelcontextprotocol/client';

/** The code of an error that stands in for an answer which is none, or was broken off: none that a server gives. */
export const NO_ANSWER = -32_099;

/** A way to a server, for the protocol's client, and what is known of its end. */
export interface ServerTransport {
  readonly transport: Transport;
  /** How the way ended, in words that go on after "the MCP server"; empty while it is open, or if nothing is known. */
  end(): string;
  /** The last lines that the server said to people. */
  lastLines(): readonly string[];
  /** Ends it for good. Leaves no process behind. */
  close(): Promise<void>;
}
