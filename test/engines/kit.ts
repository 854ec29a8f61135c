/** The tests of `engineKit` as tests of this repository. */
import { afterAll, describe, test } from 'vitest';
import { type EngineKitLab, engineKit } from '../../src/testing/engine-kit.ts';

/** Far more than a case needs: an engine that is slow to miss a worker needs a quarter of a minute for each. */
const MOST_MS = 180_000;

export function describeEngine(
  title: string,
  isThere: boolean,
  createLab: () => Promise<EngineKitLab>,
  workers: number,
): void {
  describe.runIf(isThere)(title, () => {
    const figures: string[] = [];
    const onFigure = (figure: { readonly name: string; readonly value: number; readonly unit: string }): void => {
      figures.push(`${figure.name}: ${figure.value} ${figure.unit}`);
    };
    const kit = engineKit(createLab, { workers, onFigure });
    for (const { name, run } of kit.cases) test(name, run, MOST_MS);
    afterAll(async () => {
      await kit.close();
      console.log(figures.join('\n'));
    }, MOST_MS);
  });
}
