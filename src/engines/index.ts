/** `looprig/engines`: hosts of sessions, and where their turns run. */
export type { HostOptions } from './create-host.ts';
export { createHost } from './create-host.ts';
export type { ClosableEngine, Engine, RunOutcome, RunSignals, RunTurn, Serving, TurnRef } from './engine.ts';
export type { EngineErrorKind } from './engine-error.ts';
export { EngineError } from './engine-error.ts';
export { engineFromUrl } from './engine-url.ts';
export type {
  Accepted,
  BeginOptions,
  Host,
  HostEventsOptions,
  HostListOptions,
  HostSubmitOptions,
  LoopSummary,
  SessionDetails,
  SessionHost,
} from './host.ts';
export type { LocalEngineOptions } from './local.ts';
export { localEngine } from './local.ts';
