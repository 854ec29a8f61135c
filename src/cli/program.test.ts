import { expect, it } from 'vitest';
import { requireNode } from './program.ts';

it.each(['22.13.0', '22.20.1', '24.0.0', '26.10.0'])('Node %s is new enough', version => {
  expect(() => requireNode(version)).not.toThrow();
});

it.each(['18.20.0', '20.20.2', '22.12.9'])('Node %s is refused with one sentence', version => {
  expect(() => requireNode(version)).toThrow(`Node ${version} is too old: install Node 22.13 or later`);
});
