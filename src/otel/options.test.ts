import { describe, expect, it } from 'vitest';
import { DefinitionError } from '../errors.ts';
import { openTelemetry, traceTools } from './index.ts';
import { resolveTelemetry } from './options.ts';

describe('the options of openTelemetry', () => {
  it('have defaults: no content, no names', () => {
    const resolved = resolveTelemetry({});
    expect(resolved).toMatchObject({ contentLength: undefined, attributes: {}, maxOpenTurns: 1_000 });
    expect(resolved.loopOf('any')).toBeUndefined();
    expect(resolveTelemetry({ content: true }).contentLength).toBe(4_096);
    expect(resolveTelemetry({ content: false, contentLength: 7 }).contentLength).toBeUndefined();
  });

  it.each([
    [{ content: 'yes' }, 'content', '"content" of openTelemetry must be true or false, not "yes"'],
    [{ contentLength: 0 }, 'contentLength', '"contentLength" of openTelemetry must be a whole number from 1, not 0'],
    [{ maxOpenTurns: 1.5 }, 'maxOpenTurns', '"maxOpenTurns" of openTelemetry must be a whole number from 1, not 1.5'],
    [
      { loop: { name: 'agent' } },
      'loop',
      '"loop" of openTelemetry must be a loop definition, or a function that gives one, not an object',
    ],
    [
      { tracerProvider: {} },
      'tracerProvider',
      '"tracerProvider" of openTelemetry must be a tracer provider, not an object',
    ],
    [{ meterProvider: 1 }, 'meterProvider', '"meterProvider" of openTelemetry must be a meter provider, not 1'],
    [{ attributes: null }, 'attributes', '"attributes" of openTelemetry must be an object, not null'],
    [{ parent: {} }, 'parent', '"parent" of openTelemetry must be a function, not an object'],
    [{ tracer: {} }, 'tracer', 'openTelemetry has no option "tracer": it takes loop, tracerProvider'],
    [null, 'openTelemetry', 'openTelemetry must be given as an object, not null'],
  ])('%j are refused with the place and what would be right', (options, field, message) => {
    const refused = expect.objectContaining({
      kind: 'invalid_option',
      field,
      message: expect.stringContaining(message),
    });
    expect(() => openTelemetry(options as never)).toThrow(refused);
    expect(() => openTelemetry(options as never)).toThrow(DefinitionError);
  });

  it('copy the attributes', () => {
    const attributes = { team: 'a' };
    const resolved = resolveTelemetry({ attributes });
    attributes.team = 'b';
    expect(resolved.attributes).toEqual({ team: 'a' });
  });

  it('take nothing but a loop definition from the function that finds loops', () => {
    expect(resolveTelemetry({ loop: () => ({ name: 'agent' }) }).loopOf('any')).toBeUndefined();
  });
});

describe('traceTools', () => {
  it('refuses what is no observer of openTelemetry', () => {
    const refused = expect.objectContaining({
      kind: 'invalid_middleware',
      message: 'traceTools needs the observer that openTelemetry gave, not a function',
    });
    expect(() => traceTools(() => {})).toThrow(refused);
  });
});
