import { describe, expect, it } from 'vitest';
import type { AnyLanguageModel } from './model.ts';
import { takesNativeOutput } from './native-output.ts';

const model = (provider: string, modelId: string, more: object = {}): AnyLanguageModel =>
  ({ specificationVersion: 'v4', provider, modelId, ...more }) as AnyLanguageModel;

describe('an answer by a schema beside tools is native', () => {
  it.each([
    ['openai.responses', 'gpt-4o'],
    ['openai.chat', 'gpt-4o-mini-2024-07-18'],
    ['openai.responses', 'gpt-4o-2024-08-06'],
    ['openai.responses', 'gpt-4.1-nano'],
    ['openai.responses', 'gpt-5.4'],
    ['openai.responses', 'o3'],
    ['openai.responses', 'ft:gpt-4o-mini-2024-07-18:me::x'],
    ['azure.responses', 'gpt-5'],
    ['anthropic.messages', 'claude-opus-4-1-20250805'],
    ['anthropic.messages', 'claude-sonnet-4-5'],
    ['anthropic.messages', 'claude-haiku-4-5-20251001'],
    ['anthropic.messages', 'claude-opus-4-6'],
    ['anthropic.messages', 'claude-sonnet-5'],
    ['anthropic.messages', 'claude-fable-5-1'],
    ['google.generative-ai', 'gemini-3-pro-preview'],
    ['google.generative-ai', 'models/gemini-3.5-flash'],
  ])('for %s %s', (provider, modelId) => {
    expect(takesNativeOutput(model(provider, modelId), true)).toBe(true);
    expect(takesNativeOutput(model(provider, modelId), false)).toBe(true);
  });
});

describe('an answer by a schema is asked for by a tool', () => {
  it.each([
    ['openai.chat', 'gpt-4-turbo'],
    ['openai.chat', 'gpt-3.5-turbo'],
    ['openai.chat', 'gpt-4o-2024-05-13'],
    ['openai.chat', 'o1-mini'],
    ['openai.chat', 'my-deployment'],
    ['anthropic.messages', 'claude-sonnet-4-20250514'],
    ['anthropic.messages', 'claude-opus-4-0'],
    ['anthropic.messages', 'claude-3-5-haiku-20241022'],
    ['google.generative-ai', 'gemini-1.5-pro'],
    ['google.generative-ai', 'gemma-3-27b-it'],
    ['mistral.chat', 'mistral-large-latest'],
    ['scripted', 'scripted-model'],
    ['gateway', 'openai/gpt-5'],
  ])('for %s %s', (provider, modelId) => {
    expect(takesNativeOutput(model(provider, modelId), true)).toBe(false);
    expect(takesNativeOutput(model(provider, modelId), false)).toBe(false);
  });
});

it('Gemini 2 takes a schema only where there are no tools', () => {
  const gemini = model('google.generative-ai', 'gemini-2.5-flash');
  expect([takesNativeOutput(gemini, true), takesNativeOutput(gemini, false)]).toEqual([false, true]);
});

it('what a model says of itself comes first', () => {
  const says = (supportsStructuredOutputs: unknown) => ({ supportsStructuredOutputs });
  expect(takesNativeOutput(model('groq.chat', 'x', says(true)), true)).toBe(true);
  expect(takesNativeOutput(model('openai.chat', 'gpt-5', says(false)), true)).toBe(false);
  expect(takesNativeOutput(model('openai.chat', 'gpt-5', says('yes')), true)).toBe(true);
});

it('Anthropic models of the oldest specification are asked by a tool: their package would make one itself', () => {
  const old = (specificationVersion: string) =>
    model('anthropic.messages', 'claude-sonnet-4-5', { specificationVersion });
  expect([old('v2'), old('v3')].map(each => takesNativeOutput(each, true))).toEqual([false, true]);
});
