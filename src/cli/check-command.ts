/** `looprig check`: whether a configuration can be used, and what is in it. */
import { LooprigError } from '../index.ts';
import { type CommandEnd, DONE } from './command.ts';
import { EXIT } from './conclude.ts';
import type { Host } from './host.ts';
import { jsonLine } from './json-view.ts';
import { type LoopFile, LoopFileError, loadLoopFile } from './loop-file.ts';
import { loopPage } from './loop-page.ts';
import { type LoopReport, reportLoop } from './loop-report.ts';
import type { CheckOptions } from './options.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { createPainter } from './style.ts';
import { columnsOf, isColoured } from './views.ts';

/** What a check found. */
interface Checked {
  /** `undefined` for a file that cannot be loaded. */
  readonly file: string | undefined;
  readonly loops: readonly LoopReport[];
  /** One sentence each, with the place. */
  readonly problems: readonly string[];
}

/** Runs the command. Throws `UsageError` where there is no file; what is wrong in it is its status. */
export async function checkCommand(options: CheckOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const checked = await check(options.file ?? '.');
  if (options.json) host.stdout.write(jsonLine({ type: 'check', ...checked }, secrets));
  else tell(checked, host, secrets);
  return checked.problems.length === 0 ? DONE : { exitStatus: EXIT.failed, isLeftRunning: false };
}

async function check(given: string): Promise<Checked> {
  let loaded: LoopFile;
  try {
    loaded = await loadLoopFile(given);
  } catch (error) {
    if (!(error instanceof LoopFileError)) throw error;
    return { file: undefined, loops: [], problems: [error.message] };
  }
  const { config, loop: named, shown } = loaded;
  const loops: LoopReport[] = [];
  const problems: string[] = [];
  for (const loop of named === undefined ? config.loops : [named]) {
    try {
      loops.push(await reportLoop(loop, config));
    } catch (error) {
      if (!LooprigError.is(error)) throw error;
      problems.push(`${shown}: loop "${loop.name}": ${error.message}`);
    }
  }
  return { file: loaded.file, loops, problems };
}

function tell({ loops, problems }: Checked, host: Host, secrets: SecretFilter): void {
  const { stdout, stderr } = host;
  const paint = createPainter(isColoured(host));
  const columns = Math.min(columnsOf(stdout), 100);
  for (const loop of loops) stdout.write(`${loopPage(loop, { secrets, paint, columns }).join('\n')}\n\n`);
  for (const problem of problems) stderr.write(`looprig: ${oneLine(problem, secrets)}\n`);
  if (problems.length > 0) return;
  const tools = new Set(loops.flatMap(loop => loop.tools.map(({ name }) => `${loop.name} ${name}`))).size;
  const counts = `${loops.length} ${loops.length === 1 ? 'loop' : 'loops'}, ${tools} ${tools === 1 ? 'tool' : 'tools'}`;
  stdout.write(`${paint('green', '✓')} ${counts}: nothing is wrong\n`);
}
