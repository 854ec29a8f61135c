/** What axe finds wrong with a page for people who cannot see it, or have no pointer. */
import { readFileSync } from 'node:fs';
import { folderOf, type Page } from './services.ts';

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The serious and critical faults, each with the first place that has it. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(readFileSync(`${folderOf('axe-core')}/axe.min.js`, 'utf8'));
  const { violations } = (await page.evaluate('axe.run(document)')) as { readonly violations: readonly Violation[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.length} times, first ${nodes[0]?.html} ${nodes[0]?.failureSummary ?? ''}`);
}
