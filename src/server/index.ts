/**
 * `looprig/server`: the sessions of a host over HTTP, for programs and pages. Needs the package `hono`, version 4, and `@hono/node-server`, version 2, where Node serves.
 */

export { ServerError, type ServerErrorKind } from './errors.ts';
export { type Listening, type ListenOptions, listen } from './listen.ts';
export { type ServerMetrics, serverMetrics } from './metrics.ts';
export type { ServerOptions } from './options.ts';
export type { Served } from './own-host.ts';
export { createServer, type Server } from './server.ts';
export type { StaticFiles } from './static-files.ts';
