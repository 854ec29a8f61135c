import { createServer } from 'node:net';
import { restate } from 'looprig/restate';
import { expect, it } from 'vitest';

it('a worker whose port is taken says so, and is no worker', async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
  const { port } = Object(other.address()) as { readonly port: number };
  const engine = restate({ ingressUrl: 'http://127.0.0.1:1', worker: { port } });
  await expect(engine.serve(async () => ({ status: 'done' }))).rejects.toMatchObject({
    name: 'EngineError',
    kind: 'not_listening',
    message: `127.0.0.1 port ${port} cannot be listened on: another program listens there`,
  });
  await new Promise(resolve => other.close(resolve));
});
