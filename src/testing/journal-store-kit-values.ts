/** The tests of what records may hold, and of ids. */
import type { JournalRecord } from '../journal/journal.ts';
import { append, journalIs, readAll, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { everyByte, freshId, note, opened, output, withFiles } from './journal-store-records.ts';

export const VALUE_CHECKS: readonly StoreCheck[] = [
  [
    'large records come back whole',
    async store => {
      const id = freshId();
      const large = 'ä–🙂 and some plain text. '.repeat(60_000);
      const records = [opened(1), note(2, large), note(3, 'small'), note(4, large)];
      await append(store, id, 0, records);
      await journalIs(store, id, records);
    },
  ],
  [
    'characters of all kinds and odd keys come back as they were',
    async store => {
      const id = freshId();
      const odd = '{"__proto__":{"polluted":true},"constructor":1,"toString":null,"":"empty","a.b":[],"0":0}';
      const texts = ['', '\u0000', '\ud800 alone', '\u2028\u2029', '🙂', 'é', 'e\u0301', '\r\n\t"\\', '𝒳'.repeat(3)];
      const values = [JSON.parse(odd), texts, 1e308, -0.5, Number.MIN_VALUE, 2 ** 53 - 1, null, false, [[]], {}];
      const records = values.map((value, index) => output(index + 1, value));
      await append(store, id, 0, records);
      await journalIs(store, id, records);
      same(Reflect.get({}, 'polluted'), undefined, 'a field of every object');
    },
  ],
  [
    'odd session ids are ids like any other',
    async store => {
      const odd = ['__proto__', 'constructor', 'toString'];
      const ids = [...odd, `it's "odd"; -- ${freshId()}`, `../${freshId()}/ü✓`, `%_*?[${freshId()}]`];
      for (const id of ids) {
        // The first ones are the same in each run, on a database that keeps them.
        const start = (await store.find(id))?.lastSeq ?? 0;
        await append(store, id, start, [note(start + 1, id)]);
        same(await readAll(store, id, start + 1), [note(start + 1, id)], `the journal of ${id}`);
      }
      const listed = (await store.list()).map(({ sessionId }) => sessionId);
      for (const id of ids) same(listed.filter(other => other === id).length, 1, `how often ${id} is listed`);
    },
  ],
  [
    'records of several megabytes stand among small ones',
    async store => {
      const id = freshId();
      const text = 'a line of a large result\n'.repeat(200_000);
      await append(store, id, 0, [opened(1)]);
      await append(store, id, 1, [note(2, text), note(3)]);
      await append(store, id, 3, [note(4, text.slice(1)), note(5, text.slice(2))]);
      await journalIs(store, id, [opened(1), note(2, text), note(3), note(4, text.slice(1)), note(5, text.slice(2))]);
      same(await readAll(store, id, 5), [note(5, text.slice(2))], 'the last one alone');
    },
  ],
  [
    'bytes, URLs and members that are undefined come back as they were',
    async store => {
      const id = freshId();
      const url = 'https://example.com/a%20file?q=%C3%BC#end';
      await append(store, id, 0, [opened(1), withFiles(2, everyByte(1_000), new URL(url))]);
      const [, record] = await readAll(store, id, 1);
      const [bytes, link] = record?.type === 'input.received' ? record.message.content : [];
      const kept = bytes?.type === 'file' && bytes.data.type === 'data' ? bytes.data.data : undefined;
      if (!(kept instanceof Uint8Array)) throw new Error('the bytes of a file came back as something else');
      same([...kept], [...everyByte(1_000)], 'the bytes of a file');
      const found = link?.type === 'file' && link.data.type === 'url' ? link.data.url : undefined;
      if (!(found instanceof URL)) throw new Error('the URL of a file came back as something else');
      same(found.href, url, 'the URL of a file');
      if (link === undefined || !Object.hasOwn(link, 'filename')) throw new Error('a member that is undefined is gone');
      same(Reflect.get(link, 'filename'), undefined, 'a member that is undefined');
    },
  ],
  [
    'what looks like a store’s own notation comes back as it was',
    async store => {
      const id = freshId();
      const values = [
        { $looprig: ['bytes', 'AAAA'] },
        { $looprig: { $looprig: ['undefined'] }, beside: 1 },
        ['$looprig', { '$looprig ': 1 }],
        { type: 'Buffer', data: [1, 2] },
        { toJSON: 'text', $type: 'URL' },
      ];
      const records: JournalRecord[] = values.map((value, index) => output(index + 1, value));
      await append(store, id, 0, records);
      await journalIs(store, id, records);
    },
  ],
  [
    'records that were frozen throughout come back frozen throughout',
    async store => {
      const id = freshId();
      await append(store, id, 0, [note(1), output(2, { list: [{ deep: true }] })]);
      for (const record of await readAll(store, id, 1)) requireFrozen(record, `record ${record.seq}`);
    },
  ],
];

function requireFrozen(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Object.isFrozen(value)) throw new Error(`${path} is not frozen`);
  for (const key of Object.keys(value)) requireFrozen(Reflect.get(value, key), `${path}.${key}`);
}
