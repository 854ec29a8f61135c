/** What every platform must pass. */
import type { PlatformCheck } from './check.ts';
import { SESSION_CHECKS } from './session-checks.ts';
import { TURN_CHECKS } from './turn-checks.ts';

/** What web standards alone must be enough for. */
export const WEB_CHECKS: readonly PlatformCheck[] = [...TURN_CHECKS, ...SESSION_CHECKS];
