import { describe, expect, it } from 'vitest';
import { defineLoop } from '../define/loop.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { agentOf, providerName } from './agent.ts';

describe('the provider', () => {
  it.each([
    ['anthropic.messages', 'anthropic'],
    ['openai.responses', 'openai'],
    ['openai', 'openai'],
    ['google.generative-ai', 'gcp.gemini'],
    ['google.vertex.chat', 'gcp.vertex_ai'],
    ['amazon-bedrock', 'aws.bedrock'],
    ['azure.chat', 'azure.ai.openai'],
    ['azure-openai.chat', 'azure.ai.openai'],
    ['mistral.chat', 'mistral_ai'],
    ['xai.chat', 'x_ai'],
  ])('"%s" is "%s" in the conventions', (provider, name) => {
    expect(providerName(provider)).toBe(name);
  });

  it.each(['openai-compatible', 'openaiish.chat', 'my.own', ''])(
    '"%s", which they do not know, keeps its name',
    provider => {
      expect(providerName(provider)).toBe(provider);
    },
  );
});

describe('the agent of a turn', () => {
  const model = scriptedModel([]);
  const other = { ...scriptedModel([]), modelId: 'other' };
  const plain = defineLoop({ name: 'plain', model, description: 'Answers.' });
  const modal = defineLoop({ name: 'modal', model, modes: { more: { model: other } }, initialMode: 'more' });

  it('is nobody where no loop is known', () => {
    expect(agentOf(undefined, '')).toMatchObject({ name: undefined, model: undefined, ofTurn: {}, ofStep: {} });
  });

  it('has the description of the loop on the turn alone', () => {
    const { ofTurn, ofStep, ofMetrics } = agentOf(plain, '');
    expect(ofTurn).toMatchObject({ 'gen_ai.agent.description': 'Answers.' });
    expect(JSON.stringify([ofStep, ofMetrics])).not.toContain('Answers.');
  });

  it('has the model of its mode; where the mode is not known, the one that all modes share', () => {
    expect(agentOf(modal, 'more').model).toBe('other');
    expect(agentOf(modal, '').model).toBe('scripted-model');
    expect(agentOf(modal, undefined).model).toBeUndefined();
    expect(agentOf(modal, 'gone').model).toBeUndefined();
    expect(agentOf(plain, undefined).model).toBe('scripted-model');
  });
});
