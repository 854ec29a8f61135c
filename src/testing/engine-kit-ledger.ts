/**
 * What tools really did, kept apart from any journal: a file that grows by one line a fact, each in one write, so that what a process wrote before it
 * was killed is there.
 */

/** One fact: a call began to take effect, or was through with it, or was stopped before. */
export interface LedgerLine {
  readonly what: 'begin' | 'end' | 'stopped';
  readonly callId: string;
  readonly sessionId: string;
  readonly tool: string;
  /** The word by which a test knows the call. */
  readonly key: string;
  /** The process that ran it. */
  readonly pid: number;
}

/** Asked for when it is used: the rest of the testing kit runs where there is no file system. */
const files = (): typeof import('node:fs') => process.getBuiltinModule('node:fs');

const fileOf = (folder: string): string => `${folder}/ledger`;
const signOf = (folder: string, key: string): string => `${folder}/go-${key}`;

export function noteIn(folder: string, line: Omit<LedgerLine, 'pid'>): void {
  files().appendFileSync(fileOf(folder), `${JSON.stringify({ ...line, pid: process.pid })}\n`);
}

/** All lines; one that is being written is none yet. */
export function readLedger(folder: string): readonly LedgerLine[] {
  const file = fileOf(folder);
  if (!files().existsSync(file)) return [];
  const text = files().readFileSync(file, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap(line => (line === '' ? [] : [JSON.parse(line) as LedgerLine]));
}

/** Lets go the calls that wait for `key`, now and later. */
export function letGo(folder: string, key: string): void {
  files().writeFileSync(signOf(folder, key), '');
}

export function isLetGo(folder: string, key: string): boolean {
  return files().existsSync(signOf(folder, key));
}
