/**
 * The log of a file that was not closed (`-wal`). SQLite reads it up to the first page that is not as it was written, and takes what
 * comes after for the rest of a commit that was under way. That is right for one commit, since each waits for the disk before the next
 * begins (with `synchronous` at `full`; at `normal` this is not asked). If two or more whole ones come after, they were acknowledged, and must not be left out in silence.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { StoreFailure } from './failure.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The two words that a log begins with: its checksums are of little-endian or of big-endian words. */
const LITTLE = 0x377f0682;
const BIG = 0x377f0683;

interface Loss {
  /** Where the first page begins that is not as it was written. */
  readonly at: number;
  readonly commits: number;
}

/** Throws where commits would be lost by opening the file. */
export function checkLog(file: string): void {
  const log = `${file}-wal`;
  if (!existsSync(log)) return;
  let loss = lossOf(log);
  // Another program may be writing while this one reads: what is damaged is so again.
  for (let again = 0; again < 3 && loss !== undefined; again++) {
    const next = lossOf(log);
    loss = next?.at === loss.at ? next : undefined;
  }
  if (loss === undefined) return;
  const what = `from byte ${loss.at} on, and ${loss.commits} commits come after it`;
  throw new StoreFailure({
    kind: 'damaged',
    message: `the log ${log} is damaged ${what}: restore a backup, or remove the log to go on without what it holds`,
  });
}

function lossOf(log: string): Loss | undefined {
  const handle = openSync(log, 'r');
  try {
    const header = new DataView(new ArrayBuffer(HEADER_BYTES));
    if (readSync(handle, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return undefined;
    return scan(handle, header);
  } finally {
    closeSync(handle);
  }
}

function scan(handle: number, header: DataView): Loss | undefined {
  const magic = header.getUint32(0);
  const sums = new Checksum(magic !== BIG);
  sums.add(header, 0, 24);
  let isWhole = (magic === LITTLE || magic === BIG) && sums.isAt(header, 24);
  const pageBytes = header.getUint32(8) || 65_536;
  // A header that cannot be read says nothing of the size of pages: it is that of our files.
  const frameBytes = FRAME_HEADER_BYTES + (isWhole ? pageBytes : 4_096);
  let salts = isWhole ? saltsOf(header, 16) : undefined;
  let loss: Loss | undefined = isWhole ? undefined : { at: 0, commits: 0 };

  const frame = new DataView(new ArrayBuffer(frameBytes));
  for (let at = HEADER_BYTES; readSync(handle, frame, 0, frameBytes, at) === frameBytes; at += frameBytes) {
    salts ??= saltsOf(frame, 8);
    const isOfThisLog = salts === saltsOf(frame, 8);
    if (isWhole) {
      sums.add(frame, 0, 8);
      sums.add(frame, FRAME_HEADER_BYTES, frameBytes);
      isWhole = isOfThisLog && sums.isAt(frame, 16);
      if (!isWhole) loss = { at, commits: 0 };
    }
    const isCommit = frame.getUint32(4) !== 0;
    if (loss !== undefined && isOfThisLog && isCommit) loss = { at: loss.at, commits: loss.commits + 1 };
  }
  return loss !== undefined && loss.commits > 1 ? loss : undefined;
}

/** The two numbers that are drawn anew whenever the log begins again, so that what is left of an older one is told apart. */
function saltsOf(view: DataView, at: number): string {
  return `${view.getUint32(at)} ${view.getUint32(at + 4)}`;
}

/** The running checksum of a log. */
class Checksum {
  readonly #littleEndian: boolean;
  #one = 0;
  #other = 0;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  add(view: DataView, from: number, to: number): void {
    for (let at = from; at < to; at += 8) {
      this.#one = (this.#one + view.getUint32(at, this.#littleEndian) + this.#other) >>> 0;
      this.#other = (this.#other + view.getUint32(at + 4, this.#littleEndian) + this.#one) >>> 0;
    }
  }

  isAt(view: DataView, at: number): boolean {
    return view.getUint32(at) === this.#one && view.getUint32(at + 4) === this.#other;
  }
}
