/** The tests of captures. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { append, captureIs, journalIs, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { everyByte, freshId, opened } from './journal-store-records.ts';

export const CAPTURE_CHECKS: readonly StoreCheck[] = [
  [
    'a capture is kept under the SHA-256 of its bytes',
    async store => {
      const id = freshId();
      for (const bytes of [new Uint8Array(0), new Uint8Array([0, 255, 10, 13]), everyByte(1 << 20)]) {
        const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
        const captureId = await store.putCapture(id, bytes);
        same(captureId, bytesToHex(new Uint8Array(digest)), 'the id of the capture');
        same(await store.putCapture(id, bytes), captureId, 'the id when it is put again');
        await captureIs(store, id, captureId, bytes);
      }
    },
  ],
  [
    'a capture does not change with the bytes it was made of',
    async store => {
      const id = freshId();
      const bytes = everyByte(64);
      const captureId = await store.putCapture(id, bytes);
      bytes.fill(7);
      await captureIs(store, id, captureId, everyByte(64));
      (await store.getCapture(id, captureId))?.fill(7);
      await captureIs(store, id, captureId, everyByte(64));
    },
  ],
  [
    'a capture belongs to its session',
    async store => {
      const [owner, stranger] = [freshId(), freshId()];
      const captureId = await store.putCapture(owner, everyByte(16));
      same(await store.getCapture(stranger, captureId), undefined, "another session's capture");
      same(await store.getCapture(owner, captureId.replace(/^./, 'g')), undefined, 'a capture of an unknown id');
      same(await store.getCapture(owner, '__proto__'), undefined, 'a capture of an odd id');
      await store.putCapture(stranger, everyByte(16));
      await captureIs(store, stranger, captureId, everyByte(16));
    },
  ],
  [
    'a capture may come before the first record, and makes no session',
    async store => {
      const id = freshId();
      const captureId = await store.putCapture(id, everyByte(10));
      same(await store.find(id), undefined, 'a session of a capture alone');
      await append(store, id, 0, [opened(1)]);
      await journalIs(store, id, [opened(1)]);
      await captureIs(store, id, captureId, everyByte(10));
    },
  ],
  [
    'a capture of 8 MiB is kept, and captures that arrive together too',
    async store => {
      const id = freshId();
      const large = everyByte(8 << 20);
      const largeId = await store.putCapture(id, large);
      const ids = await Promise.all([1, 2, 3, 3, 2].map(length => store.putCapture(id, everyByte(length))));
      same(new Set(ids).size, 3, 'the number of different captures');
      await captureIs(store, id, largeId, large);
      for (const [index, length] of [1, 2, 3, 3, 2].entries()) {
        await captureIs(store, id, ids[index] ?? '', everyByte(length));
      }
    },
  ],
  [
    'an id that is none finds no capture',
    async store => {
      const id = freshId();
      const captureId = await store.putCapture(id, everyByte(16));
      const wrong = ['', 'x', captureId.slice(1), `${captureId}0`, captureId.toUpperCase(), '0'.repeat(64), '\0'];
      for (const other of wrong) {
        if (other !== captureId)
          same(await store.getCapture(id, other), undefined, `the capture of ${JSON.stringify(other)}`);
      }
      await captureIs(store, id, captureId, everyByte(16));
    },
  ],
];
