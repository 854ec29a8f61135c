/** The tests of mailboxes, and of the telling of what is new. A store that has none of them passes. */
import { JournalError } from '../errors.ts';
import type { JournalStore } from '../journal/journal.ts';
import type { Mail, Mailbox, MailContent, StoreNews } from '../journal/mailbox.ts';
import { append, journalIs, type StoreCheck, same } from './journal-store-kit-checks.ts';
import type { Reopen } from './journal-store-kit-reopen.ts';
import { freshId, note, numbers, opened } from './journal-store-records.ts';

function mail(mailId: string, content: MailContent = { type: 'mode', mode: mailId }): Mail {
  return Object.freeze({ mailId, at: 1_700_000_000_000, content: Object.freeze(content) });
}

/** A check of the mailboxes of a store that has them. */
function ofMailbox(check: (mailbox: Mailbox, store: JournalStore) => Promise<void>): StoreCheck[1] {
  return async store => {
    if (store.mailbox !== undefined) await check(store.mailbox, store);
  };
}

async function mailsAre(mailbox: Mailbox, sessionId: string, expected: readonly Mail[]): Promise<void> {
  same(await mailbox.read(sessionId), expected, 'the mails');
}

const MESSAGE = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Größe 🙂 \u2028 "x"' }] };

const KINDS: readonly Mail[] = [
  mail('submit', { type: 'submit', turnId: 'submit', message: MESSAGE, limits: { calls: Number.POSITIVE_INFINITY } }),
  mail('steer', { type: 'steer', inputId: 'steer', message: MESSAGE, limits: { calls: 0 } }),
  mail('interrupt', { type: 'interrupt', turnId: 'submit', reason: 'no' }),
  mail('answer', {
    type: 'answer',
    gateId: 'gate',
    answer: { decision: 'edit', input: { deep: [1, null, { a: '' }] } },
  }),
  mail('mode'),
];

export const MAIL_CHECKS: readonly StoreCheck[] = [
  [
    'mails come back as they were, in the order of posting, until they are removed',
    ofMailbox(async mailbox => {
      const id = freshId();
      await mailsAre(mailbox, id, []);
      for (const one of KINDS) same(await mailbox.post(id, one), true, `whether ${one.mailId} is new`);
      await mailsAre(mailbox, id, KINDS);
      await mailbox.remove(id, ['steer', 'nobody', 'mode']);
      await mailsAre(mailbox, id, [KINDS[0]!, KINDS[2]!, KINDS[3]!]);
      await mailbox.remove(id, ['submit', 'interrupt', 'answer', 'answer']);
      await mailbox.remove(id, []);
      await mailsAre(mailbox, id, []);
    }),
  ],
  [
    'a mail of an id that is there changes nothing, and one that was removed can be posted again',
    ofMailbox(async mailbox => {
      const id = freshId();
      same(await mailbox.post(id, mail('a', { type: 'mode', mode: 'first' })), true, 'whether the first is new');
      same(await mailbox.post(id, mail('a', { type: 'mode', mode: 'second' })), false, 'whether the second is new');
      await mailsAre(mailbox, id, [mail('a', { type: 'mode', mode: 'first' })]);
      await mailbox.post(id, mail('b'));
      await mailbox.remove(id, ['a']);
      same(await mailbox.post(id, mail('a')), true, 'whether it is new after its removal');
      await mailsAre(mailbox, id, [mail('b'), mail('a')]);
    }),
  ],
  [
    'of mails of one id that arrive together one is taken',
    ofMailbox(async mailbox => {
      const id = freshId();
      const posts = numbers(1, 20).map(number => mailbox.post(id, mail(`m${number % 5}`)));
      same((await Promise.all(posts)).filter(isNew => isNew).length, 5, 'how many were new');
      same((await mailbox.read(id)).length, 5, 'how many are there');
    }),
  ],
  [
    'mails belong to their session, whatever the ids are, and are no session of the list',
    ofMailbox(async (mailbox, store) => {
      const [one, two] = [freshId(), freshId()];
      const odd = ['', '__proto__', "'; DROP TABLE mail; --", '\0', '"', '\ud800', 'é', 'x'.repeat(500)];
      for (const name of odd) await mailbox.post(one, mail(name));
      await mailbox.post(two, mail('a'));
      await mailsAre(
        mailbox,
        one,
        odd.map(name => mail(name)),
      );
      same(await store.find(one), undefined, 'a session of mails alone');
      await mailbox.remove(two, odd);
      await mailsAre(mailbox, two, [mail('a')]);
      await append(store, one, 0, [opened(1)]);
      await journalIs(store, one, [opened(1)]);
      await mailbox.remove(one, odd);
      await mailsAre(mailbox, one, []);
    }),
  ],
  [
    'the sessions that have mails are told, the one with the oldest first',
    ofMailbox(async mailbox => {
      const ids = [freshId(), freshId(), freshId()];
      const ours = async () => (await mailbox.sessions()).filter(id => ids.includes(id));
      same(await ours(), [], 'the sessions without mails');
      for (const id of ids) await mailbox.post(id, mail('a'));
      await mailbox.post(ids[0]!, mail('b'));
      same(await ours(), ids, 'the sessions with mails');
      await mailbox.remove(ids[1]!, ['a']);
      same(await ours(), [ids[0], ids[2]], 'the sessions that still have mails');
      for (const id of ids) await mailbox.remove(id, ['a', 'b']);
    }),
  ],
  [
    'a mail of a megabyte is kept',
    ofMailbox(async mailbox => {
      const id = freshId();
      const large = mail('large', { type: 'mode', mode: 'm'.repeat(1 << 20) });
      await mailbox.post(id, large);
      await mailsAre(mailbox, id, [large]);
      await mailbox.remove(id, ['large']);
    }),
  ],
  [
    'who watches a session is told of its records and of its mails, and of no other session',
    async store => {
      if (store.watch === undefined) return;
      const [one, two] = [freshId(), freshId()];
      const heard = listen(store, one);
      await append(store, two, 0, [opened(1)]);
      await append(store, one, 0, [opened(1)]);
      await heard.of('records');
      const first = heard.count;
      const deaf = listen(store, one);
      deaf.stop();
      await append(store, one, 1, [note(2)]);
      await heard.of('records', first);
      if (store.mailbox !== undefined) {
        await store.mailbox.post(two, mail('a'));
        await store.mailbox.post(one, mail('a'));
        await heard.of('mails');
        await store.mailbox.remove(one, ['a']);
        await store.mailbox.remove(two, ['a']);
      }
      heard.stop();
      same(deaf.count, 0, 'what was told to one who watches no more');
    },
  ],
];

/** Mails outlive the process that posted them. */
export function reopenMailChecks(reopen: Reopen): readonly StoreCheck[] {
  return [
    [
      'mails are there when the store is opened again, and a closed store takes none',
      ofMailbox(async (mailbox, store) => {
        const id = freshId();
        for (const one of KINDS) await mailbox.post(id, one);
        const again = await reopen(store);
        try {
          await mailsAre(again.mailbox!, id, KINDS);
          for (const attempt of [mailbox.post(id, mail('late')), mailbox.read(id), mailbox.remove(id, ['mode'])]) {
            const [outcome] = await Promise.allSettled([attempt]);
            if (outcome.status === 'fulfilled' || !JournalError.is(outcome.reason))
              throw new Error('the mailbox of a closed store must refuse with a JournalError');
          }
          await again.mailbox!.remove(
            id,
            KINDS.map(({ mailId }) => mailId),
          );
          await mailsAre(again.mailbox!, id, []);
        } finally {
          await again.close?.();
        }
      }),
    ],
  ];
}

/** How long a store may take to tell of what it has itself written, in milliseconds. */
const MOST_WAIT_MS = 5_000;

/** Hears what a store tells of a session. */
function listen(store: JournalStore, sessionId: string) {
  const told: StoreNews[] = [];
  let wake = Promise.withResolvers<void>();
  const stop = store.watch!(sessionId, news => {
    told.push(news);
    const { resolve } = wake;
    wake = Promise.withResolvers();
    resolve();
  });
  return {
    stop,
    get count() {
      return told.length;
    },
    /** Waits until such news were told, after the first `from` of all. */
    async of(news: StoreNews, from = 0): Promise<void> {
      const timer = setTimeout(() => wake.reject(new Error(`nobody told of new ${news}`)), MOST_WAIT_MS);
      try {
        while (!told.slice(from).includes(news)) await wake.promise;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
