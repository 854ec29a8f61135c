/** The tests that every engine must pass, independent of a test runner. */
import { readTyped } from '../define/options.ts';
import type { EngineCheck, EngineKitFigure, KitSetting } from './engine-kit-checks.ts';
import { type EngineKitLab, KitBench } from './engine-kit-lab.ts';
import { LOSS_CHECKS, manySessions } from './engine-kit-losses.ts';
import { manyWaiting, SOAK_CHECKS } from './engine-kit-soak.ts';
import { TURN_CHECKS } from './engine-kit-turns.ts';
import { refuseForTest } from './refusal.ts';

export type { EngineKitFigure } from './engine-kit-checks.ts';
export type { EngineKitLab, EngineKitServer, EngineKitWorker } from './engine-kit-lab.ts';

/** One test of an engine. */
export interface EngineKitCase {
  /** A fact about every engine, fit as the title of a test. */
  readonly name: string;
  /** Rejects, with what was expected and what was there, if it does not hold. It may take a minute, where the engine is slow to miss a worker. */
  run(): Promise<void>;
}

/** What the tests of an engine are told about it. */
export interface EngineKitOptions {
  /** How many workers run at a time. One for an engine that runs turns in the process that they come to: then another is started where one is lost. Default 2. */
  readonly workers?: number;
  /** The longest that another worker may take to go on after one is lost, in milliseconds. Default: as long as the tests wait for anything. */
  readonly failOverMs?: number;
  /** The long tests too: random kills, a thousand waiting sessions, and what is done in a second. Default false. */
  readonly soak?: boolean;
  /** Told what was measured. */
  readonly onFigure?: (figure: EngineKitFigure) => void;
}

/** The tests of one engine. They share a lab, so that they are run one after the other. */
export interface EngineKit {
  readonly cases: readonly EngineKitCase[];
  /** Ends the lab. */
  close(): Promise<void>;
}

/**
 * The tests of an engine, over real processes that are killed: `for (const { name, run } of kit.cases) test(name, run)`, and `kit.close()` at the end. The
 * lab is made with the first test.
 */
export function engineKit(
  createLab: () => EngineKitLab | Promise<EngineKitLab>,
  options: EngineKitOptions = {},
): EngineKit {
  const given = readTyped(options, ['workers', 'failOverMs', 'soak', 'onFigure'], 'engineKit', refuseForTest);
  const { workers = 2, failOverMs = Number.POSITIVE_INFINITY, soak = false, onFigure } = given;
  const setting: KitSetting = { workers, failOverMs, tell: figure => onFigure?.(figure) };
  let bench: Promise<KitBench> | undefined;
  const short: readonly EngineCheck[] = [...TURN_CHECKS, ...LOSS_CHECKS, manySessions(200)];
  const checks = [...short, ...(soak ? [...SOAK_CHECKS, manyWaiting(1_000)] : [])];
  const cases = checks.map(([name, check]) =>
    Object.freeze({
      name,
      async run() {
        bench ??= Promise.resolve(createLab()).then(lab => new KitBench(lab));
        await check(await bench, setting);
      },
    }),
  );
  return Object.freeze({
    cases: Object.freeze(cases),
    async close() {
      await (await bench)?.close();
    },
  });
}
