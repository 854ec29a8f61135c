/** How the testing kit refuses an option: a test that is written wrong fails with a `TypeError`, as a mistake in its own code does. */
import type { Refusal } from '../define/options.ts';

export const refuseForTest: Refusal = (_field, message, { cause } = {}) =>
  new TypeError(message, cause === undefined ? {} : { cause });
