/** Which view shows a run. */
import type { Host, HostStream } from './host.ts';
import { JsonView } from './json-view.ts';
import type { RunOptions } from './options.ts';
import { PlainView } from './plain-view.ts';
import { QuietView } from './quiet-view.ts';
import type { SecretFilter } from './secrets.ts';
import { createPainter } from './style.ts';
import { TerminalView } from './terminal-view.ts';
import type { View, ViewOutput } from './view.ts';

/** The size of a window that does not tell its own. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

type ViewOptions = Pick<RunOptions, 'json' | 'quiet' | 'hideReasoning'>;

/** The view for these options on these streams. */
export function createView(options: ViewOptions, host: Host, secrets: SecretFilter): View {
  const { stdout, stderr, clock } = host;
  const output: ViewOutput = { answer: text => stdout.write(text), progress: text => stderr.write(text) };
  if (options.json) return new JsonView(output, secrets, options);
  if (options.quiet) return new QuietView(output, secrets);
  const { hideReasoning } = options;
  if (!isWatched(options, host)) {
    return new PlainView({ output, secrets, clock, hideReasoning, streamsText: stdout.isTTY === true });
  }
  return new TerminalView({
    ...{ output, secrets, clock, hideReasoning },
    paint: createPainter(true),
    columns: () => size(stdout, 'columns') ?? DEFAULT_COLUMNS,
    rows: () => size(stdout, 'rows') ?? DEFAULT_ROWS,
  });
}

/** Whether a person sees the run as it goes: both streams are a terminal that can be drawn on, and nobody said no. */
export function isWatched({ json, quiet }: Pick<RunOptions, 'json' | 'quiet'>, { stdout, stderr, env }: Host): boolean {
  const saysNo = json || quiet || (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return stdout.isTTY === true && stderr.isTTY === true && !saysNo;
}

/** Some terminals say 0 for a size that they do not know. */
function size(stream: HostStream, side: 'columns' | 'rows'): number | undefined {
  const value = stream[side];
  return value !== undefined && value > 0 ? value : undefined;
}
