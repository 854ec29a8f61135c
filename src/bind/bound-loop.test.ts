import { describe, expect, test } from 'vitest';
import { resolveInput, type ToolCall } from '../define/tool.ts';
import { ToolOwnershipError } from '../errors.ts';
import { BoundTool } from './bound-loop.ts';

const owner = { sessionId: 's1', loopId: 'l1' };
const schema = resolveInput(
  { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  'input',
  'read',
);
const info = Object.freeze({ name: 'read', description: 'Reads.', inputSchema: schema.jsonSchema });

const call = (changes: Partial<ToolCall> = {}): ToolCall => ({
  callId: 'c1',
  toolName: 'read',
  ...owner,
  turnId: 't1',
  stepId: 'st1',
  signal: new AbortController().signal,
  budget: { iterationsLeft: 1, callsLeft: 1, tokensLeft: 1 },
  progress: () => undefined,
  ...changes,
});

describe('a bound tool', () => {
  test('runs its live tool with the input and the call, as a method of the live tool', () => {
    const live = {
      prefix: 'read ',
      execute(input: unknown, { callId }: ToolCall): string {
        return `${this.prefix}${JSON.stringify(input)} for ${callId}`;
      },
    };
    const bound = new BoundTool(info, 'files', schema, live, owner);

    expect(bound.execute({ path: 'a' }, call())).toBe('read {"path":"a"} for c1');
    expect(bound.live).toBe(live);
  });

  test.each([
    { whose: 'another session', changes: { sessionId: 's2' }, caller: 'session s2, loop l1' },
    { whose: 'another loop', changes: { loopId: 'l2' }, caller: 'session s1, loop l2' },
  ])('refuses a call of $whose, and does not run', ({ changes, caller }) => {
    let runs = 0;
    const bound = new BoundTool(info, 'files', schema, { execute: () => String(++runs) }, owner);
    const refused = () => bound.execute({}, call(changes));

    expect(refused).toThrow(ToolOwnershipError);
    expect(refused).toThrow(
      `tool "read" was built for session s1, loop l1 and cannot run for ${caller}: bind the definition there too`,
    );
    expect(runs).toBe(0);
  });

  test('says what it is, to people and to the model, frozen', () => {
    const bound = new BoundTool(info, 'files', schema, { execute: () => '' }, owner);

    expect(bound.info).toBe(info);
    expect(bound.definition).toBe('files');
    expect(bound.modelTool).toEqual({ type: 'function', ...info });
    expect(Object.isFrozen(bound)).toBe(true);
    expect(Object.isFrozen(bound.modelTool)).toBe(true);
  });

  test('checks arguments by its schema', async () => {
    const bound = new BoundTool(info, 'files', schema, { execute: () => '' }, owner);

    expect(await bound.validate({ path: 'a' })).toEqual({ value: { path: 'a' } });
    expect(await bound.validate({})).toEqual({
      issues: [{ path: '', message: 'the property "path" is missing' }],
    });
  });

  test('reads capabilities from the live tool when they are used', () => {
    const live = { execute: () => '', timeoutMs: 50 };
    const bound = new BoundTool(info, 'files', schema, live, owner);
    live.timeoutMs = 70;

    expect(bound.live.timeoutMs).toBe(70);
  });
});
