/** Packages that only those install who serve. Each is loaded when it is first needed. */
import { ServerError } from './errors.ts';

/** Throws `ServerError` `missing_package` where it is not installed. */
export function loadHono(): Promise<typeof import('hono')> {
  return load('A server', 'hono', '4', () => import('hono'));
}

/** Throws `ServerError` `missing_package` where it is not installed. */
export function loadNodeServer(): Promise<typeof import('@hono/node-server')> {
  return load('Listening on Node', '@hono/node-server', '2', () => import('@hono/node-server'));
}

/** Throws `ServerError` `missing_package` where it is not installed. */
export function loadAi(): Promise<typeof import('ai')> {
  return load('Giving a page its messages', 'ai', '7', () => import('ai'));
}

async function load<Package>(
  what: string,
  name: string,
  version: string,
  importIt: () => Promise<Package>,
): Promise<Package> {
  try {
    return await importIt();
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `${what} needs the package ${name}, which is not installed: npm install ${name}@${version}`;
    throw new ServerError('missing_package', message, { cause });
  }
}
