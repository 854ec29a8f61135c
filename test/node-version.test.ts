import { expect, it } from 'vitest';

it('scripts run on the Node that comes with the repository, version 24: if not, run `npm rebuild node`', () => {
  expect(process.versions.node).toMatch(/^24\./);
});
