/** `looprig report`: a session as a file to look at, or as data. */
import { writeFile } from 'node:fs/promises';
import { type CommandEnd, DONE } from './command.ts';
import { codeOf } from './error-code.ts';
import type { Host } from './host.ts';
import { findStored } from './open-session.ts';
import type { ReportOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { UsageError } from './usage-error.ts';

/** What stands for standard output. */
const OUTPUT = '-';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. */
export async function reportCommand(options: ReportOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const { session, json, title } = options;
  const out = options.out ?? (json ? OUTPUT : undefined);
  if (out === undefined) {
    throw new UsageError(`say where it is to be written: looprig report ${session} --out FILE.html, or --json`);
  }
  const { store, stored } = await findStored(session, options, host);
  const { readSession, reportHtml, reportJson } = await import('../report/index.ts');
  const view = await readSession(store, stored.sessionId);
  const text = json ? reportJson(view) : reportHtml(view, title === undefined ? {} : { title });
  const clean = secrets.clean(text);
  if (out === OUTPUT) host.stdout.write(clean);
  else await write(out, clean, options.force, host);
  return DONE;
}

/** Sessions are for one user alone, and so is what is in them. */
async function write(file: string, text: string, isForced: boolean, { stderr }: Host): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: isForced ? 'w' : 'wx' });
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'EEXIST') {
      throw new UsageError(`${file} is there already: name another, or write over it with --force`, { cause });
    }
    throw new UsageError(`${file} cannot be written (${code}): its folder must exist and be writable`, { cause });
  }
  stderr.write(`written: ${file} (${Math.ceil(Buffer.byteLength(text) / 1024)} KiB)\n`);
}
