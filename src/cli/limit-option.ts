/** `--limits calls=20,parallel=4`: limits of a turn, as words. */
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from '../index.ts';
import { UsageError } from './usage-error.ts';

const FIELDS = Object.keys(DEFAULT_TOOL_LIMITS) as (keyof ToolLimits)[];

/** The names of all limits, for messages. */
export const LIMIT_NAMES: string = FIELDS.join(', ');

/** The fewest bytes of a result that a model can be shown. */
const LEAST_RESULT_BYTES = 256;

/** Reads name=value pairs. Throws `UsageError` for a name that is no limit or a value that is no count. */
export function parseLimits(text: string): ToolLimits {
  const limits = new Map<keyof ToolLimits, number>();
  for (const pair of text.split(',')) {
    const [name = '', value, ...more] = pair.split('=').map(part => part.trim());
    const field = FIELDS.find(known => known === name);
    if (field === undefined || value === undefined || more.length > 0) {
      const what = field === undefined && name !== '' ? `no limit is named "${name}"` : `"${pair}" is no name=value`;
      throw new UsageError(`--limits: ${what}: give pairs such as calls=20,parallel=4 of ${LIMIT_NAMES}`);
    }
    if (limits.has(field)) throw new UsageError(`--limits: "${field}" is given twice: give it once`);
    limits.set(field, parseLimit(field, value));
  }
  return Object.fromEntries(limits);
}

function parseLimit(field: keyof ToolLimits, text: string): number {
  const value = text === 'Infinity' ? Number.POSITIVE_INFINITY : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  const least = field === 'resultBytes' ? LEAST_RESULT_BYTES : 1;
  if (value >= least) return value;
  const unit = field.endsWith('Ms') ? ' of milliseconds' : field.endsWith('Bytes') ? ' of bytes' : '';
  throw new UsageError(
    `--limits: "${field}" must be a whole number${unit} from ${least}, or Infinity, not "${text}" (limits: ${LIMIT_NAMES})`,
  );
}
