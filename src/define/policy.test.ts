import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { LanguageModel } from '../model/model.ts';
import { defineLoop, type LoopDefinition } from './loop.ts';
import { defineTool, defineToolset } from './tool.ts';

const stubModel = (changes: Partial<LanguageModel> = {}): LanguageModel => ({
  specificationVersion: 'v4',
  provider: 'stub',
  modelId: 'stub-1',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not asked')),
  doStream: () => Promise.reject(new Error('not asked')),
  ...changes,
});

const tool = (name: string, requires: ('workspace' | 'secrets')[] = []) =>
  defineTool({ name, description: `Does ${name}.`, input: { type: 'object' }, requires, create: () => () => '' });
const toolset = (...produces: string[]) => defineToolset({ name: 'files', produces, create: () => [] });

const plan = { instructions: 'Plan.', tools: [tool('search')], limits: { calls: 5 }, settings: { seed: 1 } };
const act = { instructions: 'Act.' };
const common = {
  name: 'coder',
  model: stubModel(),
  system: 'Base.',
  tools: [tool('read', ['workspace', 'secrets']), toolset('list', 'open')],
  limits: { calls: 9 },
  settings: { temperature: 0, providerOptions: { stub: { a: 1, b: 2 } } },
  modes: { plan, act },
  initialMode: 'plan',
  output: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } },
  stream: true,
};

const revision = (changes: object = {}): string =>
  (defineLoop({ ...common, ...changes } as never) as LoopDefinition).policyRevision;
const original = revision();

describe('the policy revision', () => {
  test('is SHA-256 in hexadecimal text, the same each time', () => {
    const loop = defineLoop({ name: 'coder', model: stubModel() });

    expect(loop.policyRevision).toMatch(/^[0-9a-f]{64}$/);
    expect(loop.policyRevision).toBe(loop.policyRevision);
    expect(revision()).toBe(original);
  });

  test('stays what it was in earlier releases: sessions are restored by it', () => {
    const loop = defineLoop({
      name: 'coder',
      model: stubModel(),
      system: 'Base.',
      tools: [tool('read', ['workspace'])],
      modes: { plan: { limits: { calls: 5 } } },
      initialMode: 'plan',
      output: { type: 'object' },
    });

    expect(loop.policyRevision).toBe('81a2fa9d4a1a1d71432391943f554bd069472f1048978e884abdf59927e8219f');
  });

  test.each([
    { what: 'name', changes: { name: 'writer' } },
    { what: 'model id', changes: { model: stubModel({ modelId: 'stub-2' }) } },
    { what: 'provider', changes: { model: stubModel({ provider: 'other' }) } },
    { what: 'system', changes: { system: 'Base. ' } },
    { what: 'a tool more', changes: { tools: [...common.tools, tool('write')] } },
    { what: 'no tools', changes: { tools: [] } },
    { what: 'a produced name', changes: { tools: [common.tools[0], toolset('list', 'close')] } },
    { what: 'a requirement', changes: { tools: [tool('read', ['workspace']), common.tools[1]] } },
    { what: 'limits', changes: { limits: { calls: 10 } } },
    { what: 'a limit without end', changes: { limits: { calls: Number.POSITIVE_INFINITY } } },
    { what: 'captureBytes', changes: { limits: { calls: 9, captureBytes: 0 } } },
    { what: 'settings', changes: { settings: { temperature: 0.1 } } },
    { what: 'a mode more', changes: { modes: { plan, act, rest: {} } } },
    { what: 'a mode under another name', changes: { modes: { plan, play: act } } },
    { what: 'instructions', changes: { modes: { plan, act: { instructions: 'Go.' } } } },
    { what: 'model of a mode', changes: { modes: { plan, act: { ...act, model: stubModel({ modelId: 'x' }) } } } },
    { what: 'tools of a mode', changes: { modes: { plan: { ...plan, tools: [tool('find')] }, act } } },
    { what: 'limits of a mode', changes: { modes: { plan: { ...plan, limits: { calls: 6 } }, act } } },
    { what: 'settings of a mode', changes: { modes: { plan: { ...plan, settings: { seed: 2 } }, act } } },
    { what: 'initial mode', changes: { initialMode: 'act' } },
    { what: 'output schema', changes: { output: { type: 'object', properties: { a: { type: 'number' } } } } },
    { what: 'no output schema', changes: { output: undefined } },
    { what: 'stream', changes: { stream: false } },
    { what: 'atLimit', changes: { atLimit: 'answer' } },
    { what: 'announceLimits', changes: { announceLimits: true } },
    { what: 'repeat', changes: { repeat: { warn: 2 } } },
    { what: 'repeat without end', changes: { repeat: { stop: Number.POSITIVE_INFINITY } } },
    { what: 'no repeat', changes: { repeat: false } },
    { what: 'modelRetries', changes: { modelRetries: 3 } },
    { what: 'drainTimeoutMs', changes: { drainTimeoutMs: 1 } },
    { what: 'outputRetries', changes: { outputRetries: 1 } },
    { what: 'outputMode', changes: { outputMode: 'native' } },
  ])('changes with $what', ({ changes }) => {
    expect(revision(changes)).not.toBe(original);
  });

  test.each([
    { what: 'the outputMode that is the default', changes: { outputMode: 'auto' } },
    { what: 'the captureBytes that are the default', changes: { limits: { calls: 9, captureBytes: 8_388_608 } } },
    { what: 'a description', changes: { description: 'Codes.' } },
    { what: 'a name for people', changes: { displayName: 'Coder' } },
    { what: 'the order of modes', changes: { modes: { act, plan } } },
    { what: 'the order of produced names', changes: { tools: [common.tools[0], toolset('open', 'list')] } },
    { what: 'the order of tools', changes: { tools: [...common.tools].reverse() } },
    {
      what: 'the order of requirements',
      changes: { tools: [tool('read', ['secrets', 'workspace']), common.tools[1]] },
    },
    { what: 'a definition listed twice', changes: { tools: [...common.tools, common.tools[0]] } },
    { what: 'an equal model object', changes: { model: stubModel() } },
    { what: 'the specification of the model', changes: { model: { ...stubModel(), specificationVersion: 'v3' } } },
    { what: 'defaults written out', changes: { limits: { calls: 9, iterations: 25, parallel: 0 }, atLimit: 'fail' } },
    { what: "the base's model written in a mode", changes: { modes: { plan, act: { ...act, model: stubModel() } } } },
    {
      what: 'the order of keys in settings',
      changes: { settings: { providerOptions: { stub: { b: 2, a: 1 } }, temperature: 0 } },
    },
    {
      what: 'white space and the order of keys in the output schema',
      changes: {
        output: JSON.parse(
          '{ "properties": { "b": { "type": "number" },\n "a": {"type":"string"} }, "type" : "object" }',
        ),
      },
    },
    {
      what: 'middlewares, which have no text',
      changes: { middlewares: [(_: unknown, next: () => unknown) => next()] },
    },
  ])('does not change with $what', ({ changes }) => {
    expect(revision(changes)).toBe(original);
  });

  test('is the same for schemas of different libraries that mean the same', () => {
    const output = z.object({ a: z.string() });

    expect(revision({ output })).toBe(revision({ output: z.object({ a: z.string() }) }));
    expect(revision({ output })).toBe(revision({ output: z.toJSONSchema(output, { target: 'draft-07' }) }));
  });

  test('keeps a mode named __proto__ apart', () => {
    const odd = (instructions: string): string =>
      revision({ modes: JSON.parse(`{"__proto__": {"instructions": "${instructions}"}}`), initialMode: '__proto__' });

    expect(odd('One.')).not.toBe(odd('Two.'));
  });
});
