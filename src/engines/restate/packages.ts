/** Restate's own packages, which only those install who use it. What is not installed throws `EngineError` `missing_package`. */
import { optionalPackage } from '../../optional-package.ts';
import { missingPackage } from '../engine-error.ts';

/** What a worker needs. */
export type ServerSdk = typeof import('@restatedev/restate-sdk');

/** What reaches the server. */
export type ClientSdk = typeof import('@restatedev/restate-sdk-clients');

const WHO = 'the engine on Restate';

export function loadServerSdk(): Promise<ServerSdk> {
  return optionalPackage(WHO, '@restatedev/restate-sdk@1', () => import('@restatedev/restate-sdk'), missingPackage);
}

export function loadClientSdk(): Promise<ClientSdk> {
  return optionalPackage(
    WHO,
    '@restatedev/restate-sdk-clients@1',
    () => import('@restatedev/restate-sdk-clients'),
    missingPackage,
  );
}
