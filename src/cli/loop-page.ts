/** A loop's report as lines for people. */
import { durationText } from '../report/model/format.ts';
import { SEPARATOR } from './gauges.ts';
import type { LimitReport, LoopReport, ModeReport, ToolReport } from './loop-report.ts';
import { packParts } from './rows.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import type { Painter } from './style.ts';
import { wrapToWidth } from './text-width.ts';

/** What a page needs to know of its surroundings. */
export interface PageOptions {
  readonly secrets: SecretFilter;
  readonly paint: Painter;
  readonly columns: number;
}

/** How far what belongs to something stands to the right of it. */
const INDENT = '  ';

/** The lines of one loop: its tools, then its modes with their limits. */
export function loopPage(loop: LoopReport, options: PageOptions): readonly string[] {
  const { paint, secrets } = options;
  const said = loop.description === undefined ? '' : `: ${oneLine(loop.description, secrets)}`;
  const declared = loop.modes.length > 1 ? loop.modes : loop.modes.slice(0, 1);
  return [
    ...wrapped(`loop ${loop.name}${said}`, '', options).map(line => paint('bold', line)),
    ...(loop.tools.length === 0 ? [`${INDENT}no tools`] : loop.tools.flatMap(tool => toolLines(tool, loop, options))),
    ...declared.flatMap((mode, index) => modeLines(mode, index === 0 ? undefined : loop.modes[0], loop, options)),
  ];
}

function toolLines(tool: ToolReport, { modes }: LoopReport, options: PageOptions): readonly string[] {
  const { paint, secrets } = options;
  const facts = [
    tool.declaresAccess ? 'asks for permission' : 'needs no permission',
    ...(tool.declaresResource ? ['says what it works on'] : []),
    ...(tool.sequential ? ['never beside another call'] : []),
    ...(tool.idempotent ? ['may run again after a crash'] : []),
    ...(tool.timeoutMs === null || tool.timeoutMs === modes[0]?.limits.callTimeoutMs
      ? []
      : [`at most ${durationText(tool.timeoutMs)}`]),
  ];
  const deeper = `${INDENT}${INDENT}`;
  return [
    `${INDENT}${paint('cyan', tool.name)}`,
    ...wrapped(oneLine(tool.description, secrets), deeper, options),
    ...packed(facts, deeper, options).map(line => paint('dim', line)),
  ];
}

/** A mode, and what it has that the base mode has not. */
function modeLines(
  mode: ModeReport,
  base: ModeReport | undefined,
  loop: LoopReport,
  options: PageOptions,
): readonly string[] {
  const begins = mode.name === loop.initialMode ? ', in which it begins' : '';
  const name = mode.name === '' ? `the base mode${loop.modes.length > 1 ? begins : ''}` : `mode ${mode.name}${begins}`;
  const facts = [
    ...(mode.model === base?.model ? [] : [`model ${mode.model}`]),
    ...(sameList(mode.tools, base?.tools ?? loop.tools.map(tool => tool.name))
      ? []
      : [`tools ${mode.tools.join(', ')}`]),
    ...limitWords(mode.limits, base?.limits),
  ];
  return [
    `${INDENT}${name}`,
    ...packed(facts.length === 0 ? ['as the base mode'] : facts, `${INDENT}${INDENT}`, options),
  ];
}

function limitWords(limits: LimitReport, base: LimitReport | undefined): readonly string[] {
  const names = Object.keys(limits) as (keyof LimitReport)[];
  return names
    .filter(name => base === undefined || limits[name] !== base[name])
    .map(name => `${name} ${limits[name] === null ? 'without end' : limits[name]?.toLocaleString('en')}`);
}

function sameList(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, index) => name === others[index]);
}

function wrapped(text: string, indent: string, { columns }: PageOptions): readonly string[] {
  return wrapToWidth(text, columns - indent.length).map(row => `${indent}${row.trimEnd()}`);
}

function packed(parts: readonly string[], indent: string, { columns }: PageOptions): readonly string[] {
  return packParts(parts, SEPARATOR, columns - indent.length).map(row => `${indent}${row}`);
}
