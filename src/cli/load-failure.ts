/** Why a file could not be loaded, in one sentence that says where. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Where this program's own files are: a mistake is in none of them. */
const OWN = new URL('../', import.meta.url).href;

/** A package of npm, without what is asked for in it. */
const PACKAGE = /^(?:@[^/]+\/)?[^/]+/;

export class LoadFailure {
  readonly #cause: unknown;
  readonly #file: string;
  readonly #shown: string;

  constructor(cause: unknown, file: string, shown: string) {
    this.#cause = cause;
    this.#file = file;
    this.#shown = shown;
  }

  async sentence(): Promise<string> {
    const cause = this.#cause;
    if (!(cause instanceof Error)) return `${this.#shown}: it threw ${JSON.stringify(cause)}, which is no error`;
    const missing = this.#missing(cause);
    if (missing !== undefined) return missing;
    const place = this.#frame(cause) ?? (cause instanceof SyntaxError ? await this.#checkedPlace() : '');
    const advice = adviceFor(cause);
    return `${this.#shown}${place}: ${cause.message.split('\n', 1)[0]}${advice}`;
  }

  /** A package or a file that is imported and is not there. */
  #missing(cause: Error): string | undefined {
    if (Reflect.get(cause, 'code') !== 'ERR_MODULE_NOT_FOUND') return undefined;
    const [, kind, name = '', from = ''] =
      /^Cannot find (package|module) '([^']+)' imported from (.+)$/m.exec(cause.message) ?? [];
    const where = from === this.#file ? this.#shown : from;
    if (kind === undefined) return undefined;
    if (kind === 'module') return `${where}: it imports ${name}, which is not there`;
    return `${where}: it needs the package ${name}: run "npm install ${PACKAGE.exec(name)?.[0]}"`;
  }

  /** `:LINE`, or `:LINE:COLUMN`, where the stack names a line of this file, and else the file with it. */
  #frame({ stack = '' }: Error): string | undefined {
    const [, headFile, headLine] = /^((?:file:\/\/|\/|[A-Z]:\\).*):(\d+)$/m.exec(stack.split('\n', 1)[0] ?? '') ?? [];
    if (headFile !== undefined) return this.#at(headFile, `:${headLine}`);
    for (const [, url = '', place = ''] of stack.matchAll(/(file:\/\/[^\s)]+?)(:\d+:\d+)\)?$/gm)) {
      if (!url.startsWith(OWN) && !url.includes('/node_modules/')) return this.#at(url, place);
    }
    return undefined;
  }

  #at(pathOrUrl: string, place: string): string {
    const path = pathOrUrl.startsWith('file:') ? fileURLToPath(pathOrUrl) : pathOrUrl;
    return path === this.#file ? place : `: ${path}${place}`;
  }

  /** Some mistakes of syntax come without their place; a check by Node's own command has it. */
  #checkedPlace(): Promise<string> {
    return new Promise(done => {
      execFile(process.execPath, ['--check', this.#file], (_, __, stderr) => {
        const [, line] = /^.*:(\d+)$/.exec(stderr.split('\n', 1)[0] ?? '') ?? [];
        done(line === undefined ? '' : `:${line}`);
      });
    });
  }
}

function adviceFor(cause: Error): string {
  if (Reflect.get(cause, 'code') !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return '';
  return ': Node runs TypeScript only where leaving out the types makes it JavaScript';
}
