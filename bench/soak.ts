/**
 * The tests of engines with the long ones, on each engine: `npm run soak`, or `npm run soak -- Restate` for one. Real servers, real worker processes, on this
 * machine alone. Prints what was found and measured, and writes the figures to `bench/SCALE.md` when all engines were run.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { type EngineKitFigure, type EngineKitLab, engineKit } from '../src/testing/engine-kit.ts';
import { localLab, pgBossLab, restateLab } from '../test/engines/labs.ts';

interface Subject {
  readonly name: string;
  readonly createLab: () => Promise<EngineKitLab>;
  readonly workers: number;
  readonly failOverMs?: number;
}

const SUBJECTS: readonly Subject[] = [
  { name: 'local', createLab: localLab, workers: 1 },
  { name: 'Restate', createLab: restateLab, workers: 2, failOverMs: 3_000 },
  { name: 'pg-boss', createLab: pgBossLab, workers: 2, failOverMs: 45_000 },
];

const only = process.argv.slice(2);
const subjects = SUBJECTS.filter(({ name }) => only.length === 0 || only.includes(name));
const figures = new Map<string, Map<string, string>>();
let failed = 0;

for (const { name, createLab, ...options } of subjects) {
  console.log(`\n${name}`);
  const onFigure = (figure: EngineKitFigure): void => {
    const value = `${figure.value.toLocaleString('en')} ${figure.unit}`.trim();
    console.log(`        ${figure.name}: ${value}`);
    const row = figures.get(figure.name) ?? new Map<string, string>();
    figures.set(figure.name, row.set(name, value));
  };
  const kit = engineKit(createLab, { ...options, soak: true, onFigure });
  for (const { name: fact, run } of kit.cases) {
    const began = performance.now();
    const error = await run().then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (error !== undefined) failed += 1;
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`${error === undefined ? 'passed' : 'FAILED'} ${seconds.padStart(6)} s  ${fact}`);
    if (error !== undefined) console.log(error);
  }
  await kit.close();
}

if (only.length === 0 && failed === 0) writeFileSync(join(import.meta.dirname, 'SCALE.md'), report());
console.log(failed === 0 ? '\nall is right' : `\n${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function report(): string {
  const names = SUBJECTS.map(subject => subject.name);
  const rows = [...figures].map(
    ([figure, values]) => `| ${figure} | ${names.map(name => values.get(name) ?? '–').join(' | ')} |`,
  );
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  const load = `a load of ${loadavg()[2]?.toFixed(0)} in the last quarter of an hour`;
  return [
    '# Engines, measured',
    '',
    `Written by \`npm run soak\` on ${new Date().toISOString().slice(0, 10)}: ${machine}, ${load}. Clients, workers, PostgreSQL (\`fsync\` on)`,
    'and Restate share the machine. `local` is one process on SQLite, the others workers on PostgreSQL. All tests of engines passed, the long ones too.',
    '',
    `| what | ${names.join(' | ')} |`,
    `| --- | ${names.map(() => '---').join(' | ')} |`,
    ...rows,
    '',
  ].join('\n');
}
