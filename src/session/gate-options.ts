/** What a rig says about permission, checked. */
import { type GateRule, type ResolvedRule, resolveRules } from '../define/gate.ts';
import { type Refusal, readOptions } from '../define/options.ts';
import { SessionError } from '../errors.ts';
import { show } from '../show.ts';

/** Who may do what in the sessions of a rig. */
export interface GateOptions {
  /** Beside those of the loop. Default: none. */
  readonly rules?: readonly GateRule[];
  /** Whether somebody answers (`session.answer`) when a call has to ask. Default false: what must be asked is denied. */
  readonly ask?: boolean;
  /** How long a gate waits for its answer, in milliseconds by the rig's clock; then its call is denied. Default Infinity. */
  readonly gateTimeoutMs?: number;
}

/** How a rule or an option that cannot be taken is refused. */
export const invalidGate: Refusal = (_field, message) => new SessionError('invalid_option', message);

/** The options of a rig's gate, checked. Throws `SessionError` `invalid_option`. */
export function resolveGate(options: unknown): {
  readonly rules: readonly ResolvedRule[];
  readonly ask: boolean;
  readonly gateTimeoutMs: number;
} {
  if (options === undefined) return { rules: [], ask: false, gateTimeoutMs: Number.POSITIVE_INFINITY };
  const given = readOptions(options, ['rules', 'ask', 'gateTimeoutMs'], 'gate', invalidGate);
  const { ask = false, gateTimeoutMs = Number.POSITIVE_INFINITY } = given;
  if (typeof ask !== 'boolean') throw invalidGate('ask', `gate.ask must be true or false, not ${show(ask)}`);
  if (typeof gateTimeoutMs !== 'number' || !(gateTimeoutMs > 0)) {
    throw invalidGate(
      'gateTimeoutMs',
      `gate.gateTimeoutMs must be a positive number of milliseconds, not ${show(gateTimeoutMs)}`,
    );
  }
  return { rules: resolveRules(given.rules, 'gate.rules', invalidGate), ask, gateTimeoutMs };
}
