/** Which view shows a run. */
import type { Host, HostStream } from './host.ts';
import { JsonView } from './json-view.ts';
import type { ShownOptions } from './options.ts';
import { PlainView } from './plain-view.ts';
import { QuietView } from './quiet-view.ts';
import type { SecretFilter } from './secrets.ts';
import { createPainter } from './style.ts';
import { TerminalView } from './terminal-view.ts';
import type { View, ViewOutput } from './view.ts';

/** The size of a window that does not tell its own. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** The view for these options on these streams. */
export function createView(options: ShownOptions, host: Host, secrets: SecretFilter): View {
  const { stdout, stderr, clock } = host;
  const output: ViewOutput = { answer: text => stdout.write(text), progress: text => stderr.write(text) };
  if (options.json) return new JsonView(output, secrets, options);
  if (options.quiet) return new QuietView(output, secrets);
  const { hideReasoning } = options;
  if (!isWatched(options, host)) {
    return new PlainView({
      ...{ output, secrets, clock, hideReasoning },
      ...{ streamsText: stdout.isTTY === true, showsResults: false },
    });
  }
  return new TerminalView({
    ...{ output, secrets, clock, hideReasoning, isLive: true },
    paint: createPainter(true),
    ...sizeOf(stdout),
  });
}

/** The view for a turn that is over: all of it is what was asked for, so that it goes to standard output. */
export function createPastView(host: Host, secrets: SecretFilter): View {
  const { stdout, clock } = host;
  const write = (text: string): unknown => stdout.write(text);
  const past = { output: { answer: write, progress: write }, secrets, clock, hideReasoning: false };
  if (!isColoured(host)) return new PlainView({ ...past, streamsText: true, showsResults: true });
  return new TerminalView({ ...past, isLive: false, paint: createPainter(true), ...sizeOf(stdout) });
}

/** The size of a window, asked each time: it may change. */
export function sizeOf(stream: HostStream): { readonly columns: () => number; readonly rows: () => number } {
  return { columns: () => columnsOf(stream), rows: () => size(stream, 'rows') ?? DEFAULT_ROWS };
}

/** How wide a window is. */
export function columnsOf(stream: HostStream): number {
  return size(stream, 'columns') ?? DEFAULT_COLUMNS;
}

/** Whether standard output is a terminal that shows colours, and nobody said no. */
export function isColoured({ stdout, env }: Host): boolean {
  return stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

/** Whether a person can be asked in the middle of a run, and answer. */
export function canAsk({ json, quiet }: Pick<ShownOptions, 'json' | 'quiet'>, { stdin, stderr }: Host): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !json && !quiet;
}

/** Whether a person sees the run as it goes: both streams are a terminal that can be drawn on, and nobody said no. */
export function isWatched({ json, quiet }: Pick<ShownOptions, 'json' | 'quiet'>, host: Host): boolean {
  return isColoured(host) && host.stderr.isTTY === true && !json && !quiet;
}

/** Some terminals say 0 for a size that they do not know. */
function size(stream: HostStream, side: 'columns' | 'rows'): number | undefined {
  const value = stream[side];
  return value !== undefined && value > 0 ? value : undefined;
}
