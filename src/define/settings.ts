/** Request settings: what a loop or a mode wants of the model beside the conversation. */
import { DefinitionError } from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import type { ModelSettings } from '../model/model.ts';
import { isList, show } from '../show.ts';
import { copyList, readOptions } from './options.ts';

interface Check {
  fits(value: unknown): boolean;
  readonly expected: string;
}

const number: Check = { fits: value => Number.isFinite(value), expected: 'a number' };
const integer: Check = { fits: value => Number.isInteger(value), expected: 'an integer' };
const record: Check = {
  fits: value => typeof value === 'object' && value !== null && !isList(value),
  expected: 'an object',
};

const SETTINGS: { readonly [Setting in keyof ModelSettings]-?: Check } = {
  maxOutputTokens: { fits: value => Number.isInteger(value) && (value as number) > 0, expected: 'a positive integer' },
  temperature: number,
  stopSequences: {
    fits: value => copyList(value)?.every(sequence => typeof sequence === 'string') === true,
    expected: 'a list of strings',
  },
  topP: number,
  topK: number,
  presencePenalty: number,
  frequencyPenalty: number,
  seed: integer,
  reasoning: { fits: value => typeof value === 'string', expected: 'a word such as "low" or "high"' },
  headers: record,
  providerOptions: record,
};

const NAMES = Object.keys(SETTINGS) as (keyof ModelSettings)[];

/**
 * A deep, frozen copy of settings. Throws `DefinitionError` `invalid_option`; what the loop itself decides (prompt, tools, response
 * format) is no setting.
 */
export function resolveSettings(given: unknown, field: string): ModelSettings {
  if (given === undefined) return Object.freeze({});
  const options = readOptions(given, NAMES, `"${field}"`, (name, message, details) =>
    invalid(name === '' ? field : `${field}.${name}`, message, details),
  );
  const own = NAMES.filter(name => options[name] !== undefined).map(name => {
    return [name, ownCopy(options[name], SETTINGS[name], `${field}.${name}`)];
  });
  return deepFreeze(Object.fromEntries(own)) as ModelSettings;
}

function ownCopy(value: unknown, { fits, expected }: Check, field: string): unknown {
  if (!fits(value)) throw invalid(field, `"${field}" must be ${expected}, not ${show(value)}`, { value });
  try {
    return structuredClone(value);
  } catch (cause) {
    throw invalid(field, `"${field}" must be plain data`, { cause });
  }
}

function invalid(field: string, message: string, details: object = {}): DefinitionError {
  return new DefinitionError('invalid_option', { field, message, ...details });
}
