/** `looprig/middleware`: the ready-made middlewares. Each has an entry of its own as well, such as `looprig/middleware/retry`. */

// Not to run again what was answered before.
export type { CacheOptions } from './cache/index.ts';
export { cache } from './cache/index.ts';
// To see what runs.
export type { CallEndedLog, CallLog, CallStartedLog, LogCallsOptions } from './log-calls/index.ts';
export { logCalls } from './log-calls/index.ts';
// To run no more than a service takes.
export type { RateLimitOptions } from './rate-limit/index.ts';
export { rateLimit } from './rate-limit/index.ts';
// To keep secrets from the model.
export type { RedactOptions } from './redact/index.ts';
export { redact } from './redact/index.ts';
// To run again what failed.
export type { FailedAttempt, RetryOptions } from './retry/index.ts';
export { retry } from './retry/index.ts';
