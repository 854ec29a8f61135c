/** Restate's own packages, which only those install who use it. */
import { loadPackage } from '../engine-error.ts';

/** What a worker needs. */
export type ServerSdk = typeof import('@restatedev/restate-sdk');

/** What reaches the server. */
export type ClientSdk = typeof import('@restatedev/restate-sdk-clients');

export const loadServerSdk = (): Promise<ServerSdk> =>
  loadPackage('the Restate engine', '@restatedev/restate-sdk@1', () => import('@restatedev/restate-sdk'));

export const loadClientSdk = (): Promise<ClientSdk> =>
  loadPackage(
    'the Restate engine',
    '@restatedev/restate-sdk-clients@1',
    () => import('@restatedev/restate-sdk-clients'),
  );
