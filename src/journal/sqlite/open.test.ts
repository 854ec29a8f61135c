/** What a store does with the file that it is given: opens it, makes it, brings it up to date, or refuses it and leaves it as it is. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DefinitionError } from '../../errors.ts';
import { note, opened } from '../../testing/journal-store-records.ts';
import { StoreFile } from './file.ts';
import { sqliteStore } from './index.ts';
import { openFile } from './open.ts';
import { MIGRATIONS, type Migration } from './schema.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-open-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** All that the folder holds, byte for byte. */
function contents(): Record<string, string> {
  const files = readdirSync(folder).filter(name => statSync(join(folder, name)).isFile());
  return Object.fromEntries(files.map(name => [name, readFileSync(join(folder, name), 'base64')]));
}

async function failure(file: string): Promise<unknown> {
  const store = sqliteStore({ file });
  try {
    return await store.list().then(
      () => 'it was opened',
      (error: unknown) => error,
    );
  } finally {
    await store.close();
  }
}

/** A store's file with one session, closed. */
async function makeStore(file: string): Promise<void> {
  const store = sqliteStore({ file });
  await store.append('a', 0, [opened(1), note(2)]);
  await store.close();
}

describe('a file that is no store is refused, and stays as it is:', () => {
  const foreign = (what: string) => ({
    name: 'JournalError',
    kind: 'foreign_file',
    message: expect.stringContaining(what),
  });

  test.each([
    ['text', 'This is a letter.\n'.repeat(20)],
    ['a short text', 'Hi'],
    ['zeros', '\0'.repeat(8_192)],
    ['a text that begins like a database', 'SQLite format 3\0 and then something else entirely'.padEnd(4_096, '.')],
  ])('%s', async (_, text) => {
    const file = join(folder, 'letter.txt');
    writeFileSync(file, text);
    const before = contents();
    expect(await failure(file)).toMatchObject(foreign('is not a looprig store: it is'));
    expect(contents()).toEqual(before);
  });

  test.each(['delete', 'wal'])("another program's database (journal mode %s)", async mode => {
    const file = join(folder, 'other.db');
    const database = new DatabaseSync(file);
    database.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE session (id INTEGER); INSERT INTO session VALUES (1)`);
    database.close();
    const before = contents();
    expect(await failure(file)).toMatchObject(foreign('a database of another program'));
    expect(contents()).toEqual(before);
  });

  test.each(['delete', 'wal'])("another program's database that a crash left behind (journal mode %s)", async mode => {
    const source = join(folder, 'source.db');
    const database = new DatabaseSync(source);
    database.exec(`PRAGMA journal_mode = ${mode}; PRAGMA cache_size = 1; CREATE TABLE t (a)`);
    database.exec(
      'BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT hex(randomblob(50)) FROM n',
    );
    if (mode === 'wal') database.exec('COMMIT');
    mkdirSync(join(folder, 'left'));
    const file = join(folder, 'left', 'other.db');
    const suffixes = ['', mode === 'wal' ? '-wal' : '-journal'];
    for (const suffix of suffixes) copyFileSync(`${source}${suffix}`, `${file}${suffix}`);
    database.close();
    const before = suffixes.map(suffix => readFileSync(`${file}${suffix}`, 'base64'));
    expect(await failure(file)).toMatchObject(foreign('is not a looprig store'));
    expect(suffixes.map(suffix => readFileSync(`${file}${suffix}`, 'base64'))).toEqual(before);
  });

  test("another program's database that is in use", async () => {
    const file = join(folder, 'other.db');
    const database = new DatabaseSync(file);
    database.exec('PRAGMA journal_mode = wal; CREATE TABLE t (id INTEGER); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
    expect(await failure(file)).toMatchObject(foreign('a database of another program'));
    database.exec('COMMIT');
    expect(database.prepare('SELECT count(*) AS n FROM t').get()?.n).toBe(1);
    database.close();
  });
});

describe('a place where no store can be is said:', () => {
  const failed = (what: string) => ({
    name: 'JournalError',
    kind: 'store_failed',
    message: expect.stringContaining(what),
  });

  test('a folder', async () => {
    expect(await failure(folder)).toMatchObject(failed('is a folder: name a file in it'));
  });

  test('a folder that does not exist, which is not made', async () => {
    expect(await failure(join(folder, 'none', 'a.db'))).toMatchObject(failed('does not exist: make it first'));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a file under a file', async () => {
    writeFileSync(join(folder, 'file'), '');
    expect(await failure(join(folder, 'file', 'a.db'))).toMatchObject({ kind: 'store_failed' });
  });

  test('something that is no regular file', async () => {
    const socket = createServer().listen(join(folder, 'socket'));
    await once(socket, 'listening');
    expect(await failure(join(folder, 'socket'))).toMatchObject(failed('is not a regular file'));
    socket.close();
  });

  test('a file that may not be written, or not be read', async () => {
    const file = join(folder, 'a.db');
    await makeStore(file);
    chmodSync(folder, 0o755);
    chmodSync(file, 0o444);
    expect(failureAsNobody(file)).toContain('is read-only: a store must be writable');
    chmodSync(file, 0o000);
    expect(failureAsNobody(file)).toContain('cannot be read: this user has no permission');
    expect(readdirSync(folder)).toEqual(['a.db']);
  });

  test('a folder in which no file may be made', () => {
    chmodSync(folder, 0o555);
    expect(failureAsNobody(join(folder, 'new.db'))).toContain('cannot be made: its folder is not writable');
    chmodSync(folder, 0o755);
  });

  /** What a user without special rights is told. Who has them gives them up in a process of its own. */
  function failureAsNobody(file: string): string {
    const script = `
      if (process.getuid() === 0) process.setuid(65534);
      const { StoreFile } = await import(${JSON.stringify(new URL('./file.ts', import.meta.url).href)});
      try {
        new StoreFile({ file: ${JSON.stringify(file)}, busyTimeoutMs: 100, synchronous: 'full' });
        console.log('it was opened');
      } catch (error) {
        console.log(error.message);
      }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    return stdout || stderr;
  }
});

describe('a new file', () => {
  test('is made at the first use, not before', async () => {
    const file = join(folder, 'a.db');
    const store = sqliteStore({ file });
    expect(existsSync(file)).toBe(false);
    await store.list();
    expect(existsSync(file)).toBe(true);
    await store.close();
  });

  test('is for its owner alone, and so are those beside it', async () => {
    const file = join(folder, 'a.db');
    const store = sqliteStore({ file });
    await store.append('a', 0, [opened(1)]);
    const modes = readdirSync(folder).map(name => [name, statSync(join(folder, name)).mode & 0o777]);
    expect(modes).toEqual([
      ['a.db', 0o600],
      ['a.db-shm', 0o600],
      ['a.db-wal', 0o600],
    ]);
    await store.close();
  });

  test('may be an empty one that is there', async () => {
    const file = join(folder, 'a.db');
    writeFileSync(file, '');
    await makeStore(file);
    const store = sqliteStore({ file });
    expect(await store.find('a')).toMatchObject({ lastSeq: 2 });
    await store.close();
  });

  test('says in its header whose it is, of which format, and that it is a WAL file', async () => {
    const file = join(folder, 'a.db');
    const store = sqliteStore({ file });
    await store.list();
    const header = readFileSync(file).subarray(0, 100);
    expect(header.subarray(68, 72).toString()).toBe('loop');
    expect(header.readUInt32BE(60)).toBe(MIGRATIONS.length);
    expect([...header.subarray(18, 20)]).toEqual([2, 2]);
    await store.close();
  });

  test.each([
    ['wait for the disk', 'full', 2],
    ['wait for the operating system', 'normal', 1],
  ] as const)('is opened as a WAL file whose commits %s, with `synchronous` at %s', (_, synchronous, level) => {
    const options = { file: join(folder, 'a.db'), busyTimeoutMs: 100, maxBytes: undefined, synchronous };
    const database = openFile(options, MIGRATIONS);
    const inForce = ['journal_mode', 'synchronous'].map(name => database.prepare(`PRAGMA ${name}`).get()?.[name]);
    expect(inForce).toEqual(['wal', level]);
    database.close();
  });

  test('is one file again when it is closed', async () => {
    await makeStore(join(folder, 'a.db'));
    expect(readdirSync(folder)).toEqual(['a.db']);
  });

  test('is made once when several stores begin at the same time', async () => {
    const file = join(folder, 'a.db');
    const stores = Array.from({ length: 4 }, () => sqliteStore({ file }));
    await Promise.all(stores.map((store, index) => store.append(`s${index}`, 0, [opened(1)])));
    expect(await stores[0]?.list()).toHaveLength(4);
    await Promise.all(stores.map(store => store.close()));
  });

  test('of a beginning that did not come to its end is begun again', async () => {
    const file = join(folder, 'a.db');
    // As after a process that ended within its first transaction: pages in the file, and the journal that takes them back.
    const database = new DatabaseSync(file);
    database.exec('PRAGMA journal_mode = PERSIST; PRAGMA cache_spill = 1; PRAGMA cache_size = 1; BEGIN EXCLUSIVE');
    database.exec(
      'CREATE TABLE t (a); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT hex(randomblob(50)) FROM n',
    );
    const [torn, journal] = [readFileSync(file), readFileSync(`${file}-journal`)];
    database.exec('ROLLBACK');
    database.close();
    writeFileSync(file, torn);
    writeFileSync(`${file}-journal`, journal);
    expect(torn.length).toBeGreaterThan(4_096);
    await makeStore(file);
    expect(readdirSync(folder)).toEqual(['a.db']);
  });
});

describe('formats', () => {
  const options = (file: string) => ({ file, busyTimeoutMs: 100, maxBytes: undefined, synchronous: 'full' as const });
  const addLabel: Migration = database =>
    database.exec("ALTER TABLE session ADD COLUMN label TEXT NOT NULL DEFAULT 'none'");
  const append = { type: 'append', session: 'b', expectedSeq: 0, count: 1, firstAt: 1, lastAt: 1, text: '[]' } as const;

  test('a newer one is refused, and the file stays as it is', async () => {
    const file = join(folder, 'a.db');
    await makeStore(file);
    new StoreFile(options(file), [...MIGRATIONS, addLabel]).close();
    const before = contents();
    const newer = MIGRATIONS.length + 1;
    expect(await failure(file)).toMatchObject({
      name: 'JournalError',
      kind: 'newer_format',
      message: `the store ${file} has format ${newer}, and this version of looprig knows up to ${newer - 1}: use a newer looprig`,
    });
    expect(contents()).toEqual(before);
  });

  test('an older one is brought up to date, with all that it holds', async () => {
    const file = join(folder, 'a.db');
    await makeStore(file);
    const ran: number[] = [];
    const next: readonly Migration[] = [
      ...MIGRATIONS,
      database => {
        ran.push(2);
        addLabel(database);
      },
      () => ran.push(3),
    ];
    const migrated = new StoreFile(options(file), next);
    expect(ran).toEqual([2, 3]);
    expect(migrated.answer('find', 'a')).toMatchObject({ lastSeq: 2 });
    migrated.close();
    new StoreFile(options(file), next).close();
    expect(ran).toEqual([2, 3]);
    const database = new DatabaseSync(file);
    expect(database.prepare('PRAGMA user_version').get()?.user_version).toBe(MIGRATIONS.length + 2);
    expect(database.prepare('SELECT name, label FROM session').all()).toEqual([{ name: 'a', label: 'none' }]);
    database.close();
  });

  test('the first one has no mailboxes, and gets them', async () => {
    const file = join(folder, 'a.db');
    const oldest = openFile(options(file), MIGRATIONS.slice(0, 1));
    oldest.exec("INSERT INTO session VALUES (1, 'b', 1, 1, '', 5, 5)");
    oldest.close();
    const store = sqliteStore({ file });
    const mail = { mailId: 'm', at: 1, content: { type: 'mode', mode: 'plan' } } as const;
    expect(await store.mailbox.post('b', mail)).toBe(true);
    expect(await store.mailbox.read('b')).toEqual([mail]);
    expect(await store.find('b')).toMatchObject({ lastSeq: 1 });
    await store.close();
  });

  test('a migration that fails leaves the file as it was', async () => {
    const file = join(folder, 'a.db');
    await makeStore(file);
    const failing: Migration = () => {
      throw new Error('not today');
    };
    expect(() => new StoreFile(options(file), [...MIGRATIONS, addLabel, failing])).toThrow('not today');
    const store = sqliteStore({ file });
    expect(await store.find('a')).toMatchObject({ lastSeq: 2 });
    await store.close();
  });

  test('a file that another program brought up to date meanwhile is written no more', async () => {
    const file = join(folder, 'a.db');
    const older = new StoreFile(options(file));
    const newer = new StoreFile(options(file), [...MIGRATIONS, addLabel]);
    expect(older.answer('write', [append])).toEqual([{ failure: expect.objectContaining({ kind: 'newer_format' }) }]);
    expect(newer.answer('write', [append])).toEqual([{}]);
    older.close();
    newer.close();
  });
});

describe('options that make no store are refused', () => {
  test.each([
    [{ file: '' }, 'file', '"file" must be the path of a file, not ""'],
    [{ file: 'a\0b' }, 'file', '"file" must be the path of a file'],
    [{ file: 7 }, 'file', '"file" must be the path of a file, not 7'],
    [undefined, 'options', 'sqliteStore must be given as an object, not undefined'],
    [{ file: ':memory:' }, 'file', 'for a store in memory use memoryStore()'],
    [{ file: 'a.db', busyTimeoutMs: -1 }, 'busyTimeoutMs', 'a whole number from 0, not -1'],
    [{ file: 'a.db', busyTimeoutMs: 1.5 }, 'busyTimeoutMs', 'a whole number from 0, not 1.5'],
    [{ file: 'a.db', thread: 'yes' }, 'thread', '"thread" must be true or false, not "yes"'],
    [{ file: 'a.db', synchronous: 'off' }, 'synchronous', '"synchronous" must be "full" or "normal", not "off"'],
    [{ file: 'a.db', synchronous: 1 }, 'synchronous', '"synchronous" must be "full" or "normal", not 1'],
    [{ file: 'a.db', maxBytes: 10 }, 'maxBytes', 'must be a whole number of at least 65536, not 10'],
    [{ file: 'a.db', path: 'b' }, 'path', 'sqliteStore has no option "path": it takes file, busyTimeoutMs, '],
  ])('%j', (options, field, message) => {
    const make: (options: unknown) => unknown = Reflect.apply.bind(undefined, sqliteStore, undefined) as never;
    let error: unknown;
    try {
      make([options]);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error).toMatchObject({ kind: 'invalid_option', field, message: expect.stringContaining(message) });
  });
});

test.each([false, true])('neither the store nor its thread (%s) prints a warning of the platform', thread => {
  const script = `
    const { sqliteStore } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    const store = sqliteStore({ file: ${JSON.stringify(join(folder, 'a.db'))}, thread: ${thread} });
    await store.list();
    await store.close();
    console.log('done');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'done\n', stderr: '' });
});

test.each([false, true])('a process ends by itself with a store (thread: %s) that nobody closed', thread => {
  mkdirSync(join(folder, 'sub'));
  const file = join(folder, 'sub', 'a.db');
  const script = `
    const { sqliteStore } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    const store = sqliteStore({ file: ${JSON.stringify(file)}, thread: ${thread} });
    await store.append('a', 0, [{ type: 'mode.changed', mode: 'x', seq: 1, at: 1 }]);
    console.log('appended');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    timeout: 15_000,
  });
  expect(stdout).toBe('appended\n');
});
