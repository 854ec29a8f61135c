import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('scripts run on the Node that the package brings, not on whatever the machine has', () => {
  expect(process.versions.node).toMatch(/^24\./);
});

it('that Node is one that users may have', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];
  const [ours = 0, ourMinor = 0] = process.versions.node.split('.').map(Number);
  expect(ours > Number(major) || (ours === Number(major) && ourMinor >= Number(minor))).toBe(true);
});
