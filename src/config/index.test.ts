import { defineLoop, SessionError } from 'looprig';
import { defineConfig } from 'looprig/config';
import { scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';

const clerk = defineLoop({ name: 'clerk', model: scriptedModel([]) });

it('a configuration is frozen, and is what was given', () => {
  const given = { loops: [clerk], workspace: 'shop' } as const;
  const config = defineConfig(given);
  expect(config).toEqual(given);
  expect(Object.isFrozen(config)).toBe(true);
});

it('a configuration that no rig could be made of is refused where it stands', () => {
  const wrong = { loops: [clerk, clerk] } as const;
  expect(() => defineConfig(wrong)).toThrow(SessionError);
  expect(() => defineConfig(wrong)).toThrow('loops[1] repeats the name "clerk": names must differ');
});
