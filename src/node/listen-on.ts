/** Listening on an address, or one sentence that says why not. */
import type { ListenOptions, Server } from 'node:net';

/** Settles when the server listens. Throws what `refuse` makes where the address is in use, or not this machine's. */
export async function listenOn(
  server: Server,
  place: ListenOptions & { readonly host: string; readonly port: number },
  refuse: (message: string, options: { readonly cause: unknown }) => Error,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(place, resolve);
  try {
    await promise;
  } catch (cause) {
    const code = String(Reflect.get(Object(cause), 'code') ?? 'unknown');
    const why = code === 'EADDRINUSE' ? 'another program listens there' : `the system says ${code}`;
    throw refuse(`${place.host} port ${place.port} cannot be listened on: ${why}`, { cause });
  }
  server.off('error', reject);
}
