/** The results as a page, and as plots. */
import { readFileSync } from 'node:fs';
import { short, told } from '../statistics.ts';
import { barPlot, linePlot } from './plot.ts';
import type { Results } from './results.ts';
import { BEHAVIOURS, type Workload } from './workloads.ts';

/** The package that a library's column is about. */
const PACKAGES: Readonly<Record<string, string>> = {
  ai: 'ai',
  openai: '@openai/agents',
  mastra: '@mastra/core',
  langchain: 'langchain',
  langgraph: '@langchain/langgraph',
  pi: '@earendil-works/pi-agent-core',
  strands: '@strands-agents/sdk',
  adk: '@google/adk',
};

type Which = 'first' | 'second';

function versions(results: Results): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const peers = Object.entries(PACKAGES).filter(([library]) => results.libraries.includes(library));
  return peers.map(([library, name]) => `${library} is \`${name}\` ${dependencies[name]}`).join(', ');
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[], left = 1): string {
  return [row(head), row(head.map((_, index) => (index < left ? '---' : '--:'))), ...rows.map(row)].join('\n');
}

/** How often a figure holds another: `2.1×`. */
const ratio = (value: number, base: number | undefined): string =>
  base === undefined || base <= 0 ? '–' : `${short(value / base)}×`;

function summary(results: Results): string {
  const lines = results.workloads.flatMap(workload => {
    const line = (unit: string, name: string, which: Which): string[] => [
      `${name}, ${unit}`,
      ...results.libraries.map(library => {
        const spread = results.spreadOf(library, workload, which);
        return spread === undefined ? '–' : short(spread.median);
      }),
    ];
    const { second } = workload;
    const first = line(workload.unit, workload.name, 'first');
    return second ? [first, line(second.unit, `${workload.name}, ${second.about}`, 'second')] : [first];
  });
  return table(['median', ...results.libraries], lines);
}

function ranking(results: Results, workload: Workload, which: Which): string {
  const best = results.bestPeer(workload, which);
  const bare = results.spreadOf('bare', workload, which)?.median;
  const isRate = workload.kind === 'rate' && which === 'first';
  const figures = results.libraries.flatMap(library => {
    const spread = results.spreadOf(library, workload, which);
    return spread === undefined ? [] : [{ library, spread }];
  });
  figures.sort((a, b) => (isRate ? -1 : 1) * (a.spread.median - b.spread.median));
  return table(
    ['', 'median (least to most)', 'of bare', `of the best peer${best ? ` (${best.name})` : ''}`],
    figures.map(({ library, spread }) => [
      library === 'looprig' ? '**looprig**' : library,
      told(spread),
      library === 'bare' ? '1×' : ratio(spread.median, bare),
      ratio(spread.median, best?.median),
    ]),
  );
}

function section(results: Results, workload: Workload): string {
  const reasons = results.libraries.flatMap(library => {
    const reason = results.reasonOf(library, workload.name);
    return reason === undefined ? [] : [`- ${library}: – (${reason})`];
  });
  const { second } = workload;
  return [
    `### ${workload.name}: ${workload.about}, ${workload.unit}`,
    ranking(results, workload, 'first'),
    ...(second ? [`And ${second.about}, ${second.unit}:`, ranking(results, workload, 'second')] : []),
    ...(reasons.length > 0 ? [reasons.join('\n')] : []),
  ].join('\n\n');
}

function behaviours(results: Results): string[] {
  const parts = Object.entries(BEHAVIOURS).flatMap(([behaviour, about]) => {
    const rows = results.libraries.flatMap(library => {
      const seen = results.seenOf(library, behaviour);
      return seen === undefined ? [] : [[library, seen.replaceAll('|', '\\|')]];
    });
    return rows.length === 0 ? [] : [`### ${behaviour}: ${about}`, table(['', 'seen'], rows, 2)];
  });
  return parts.length === 0 ? [] : ['## Behaviour', ...parts];
}

/** The page. A try says that it is one: its figures mean nothing. */
export function reportOf(results: Results, { isTry }: { isTry: boolean }): string {
  const plots = Object.keys(plotsOf(results)).map(
    name => `![${name.replace('.svg', '').replaceAll('-', ' ')}](${name})`,
  );
  return `${[
    '# Results',
    `Written by \`npm run bench:peers\`; [how it is measured](README.md#beside-other-libraries). ${results.circumstances}.`,
    ...(isTry ? ['**A try with tiny sizes: these figures mean nothing.**'] : []),
    `In this table, ${versions(results) || 'no other library is measured'}.`,
    ...(results.workloads.length > 0 ? [summary(results), ...plots, '## By workload'] : []),
    ...results.workloads.map(workload => section(results, workload)),
    ...behaviours(results),
  ].join('\n\n')}\n`;
}

/** Cost per step against number of steps, and cost per call by library: by file name, where there are figures for it. */
export function plotsOf(results: Results): Record<string, string> {
  const steps = results.workloads.filter(({ group, stream }) => group === 'W1' && !stream);
  const lines = results.libraries.map(name => ({
    name,
    points: steps.flatMap(workload => {
      const y = results.spreadOf(name, workload)?.median;
      return y === undefined ? [] : [{ x: workload.steps, y }];
    }),
  }));
  const calls = results.workloads.find(({ group }) => group === 'W2');
  const bars = calls
    ? results.libraries.flatMap(name => {
        const value = results.spreadOf(name, calls)?.median;
        return value === undefined ? [] : [{ name, value }];
      })
    : [];
  return {
    ...(lines.some(({ points }) => points.length > 1) && {
      'cost-per-step.svg': linePlot(
        'Cost of a step',
        'W1: µs a step of one call, median; logarithmic scale',
        'steps of the run',
        lines,
      ),
    }),
    ...(bars.length > 0 && {
      'cost-per-call.svg': barPlot(
        'Cost of a call',
        'W2: µs a call in batches of 100, median; logarithmic scale',
        bars,
      ),
    }),
  };
}
