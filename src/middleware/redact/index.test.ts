import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runOnce, said } from '../../../test/support/middleware-call.ts';
import { type ToolContent, type ToolResult, toolError, toolResult } from '../../define/tool.ts';
import { type RedactOptions, redact } from './index.ts';

/** What becomes of these parts. */
function parts(content: readonly ToolContent[], options: RedactOptions = {}): Promise<ToolResult> {
  return runOnce(redact(options), () => toolResult(content));
}

async function text(value: string, options: RedactOptions): Promise<unknown> {
  return said(await parts([{ type: 'text', text: value }], options));
}

async function json(value: unknown, options: RedactOptions = {}): Promise<unknown> {
  return said(await parts([{ type: 'json', value }], options));
}

/** What is thrown where the tool throws this. */
function thrown(error: unknown, options: RedactOptions = { values: ['hunter2'] }): Promise<unknown> {
  return runOnce(redact(options), () => {
    throw error;
  }).then(
    () => 'nothing was thrown',
    (reason: unknown) => reason,
  );
}

describe('values', () => {
  test('are taken out wherever they stand, as they are, as JSON writes them and as a URL does', async () => {
    const values = ['p"w/ä\n'];

    expect(await text('p"w/ä\n', { values })).toBe('[redacted]');
    expect(await text(`a ${JSON.stringify({ pw: 'p"w/ä\n' })}`, { values })).toBe('a {"pw":"[redacted]"}');
    expect(await text('?q=p%22w%2F%C3%A4%0A&x', { values })).toBe('?q=[redacted]&x');
  });

  test('that overlap one another, or themselves, go together', async () => {
    expect(await text('xabcdefx', { values: ['abcd', 'cdef'] })).toBe('x[redacted]x');
    expect(await text('xababababx', { values: ['abab'] })).toBe('x[redacted]x');
    expect(await text('abcdabcd', { values: ['abcd'] })).toBe('[redacted][redacted]');
    expect(await text('abcdefghijkl', { values: ['abcdefghijk', 'bcde', 'ghij'] })).toBe('[redacted]l');
    expect(await text('abcdef', { values: ['bc34', 'abcdef', 'cdef'] })).toBe('[redacted]');
  });

  test('never stay, whatever they are and wherever they stand', async () => {
    const secret = fc.string({
      unit: fc.constantFrom('a', 'b', '1', '"', '\\', '\n', 'é', '/'),
      minLength: 4,
      maxLength: 8,
    });
    const around = fc.string({ unit: fc.constantFrom('a', 'b', '1', '"', '\\', ' ', 'x') });
    const pieces = fc.array(fc.tuple(around, fc.nat(2), fc.nat(2)), { maxLength: 6 });
    const secrets = fc.array(
      secret.filter(value => value.trim() !== ''),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(secrets, pieces, async (values, plan) => {
        const written = plan.map(([before, which, how]) => {
          const value = values[which % values.length] ?? '';
          return before + [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)][how];
        });
        const whole = written.join('');
        const told = JSON.stringify([
          await text(whole, { values }),
          await json({ [whole]: [whole, { whole }] }, { values }),
          said(await runOnce(redact({ values }), () => toolError(whole))),
        ]);
        for (const value of values) {
          const inJson = JSON.stringify(value).slice(1, -1);
          expect(told.split('[redacted]').some(piece => piece.includes(inJson))).toBe(false);
        }
      }),
    );
  });
});

describe('patterns', () => {
  test.each(['', 'g', 'y', 'gy', 'i', 'gi', 'd', 'u', 'gv'])(
    'with the flags "%s" match all there is, each time',
    async flags => {
      const pattern = new RegExp('badge-[0-9]+', flags);
      pattern.lastIndex = 5;
      const middleware = redact({ patterns: [pattern] });
      for (let time = 0; time < 3; time++) {
        const result = await runOnce(middleware, () => toolResult('a badge-1 badge-22 b'));
        expect(said(result)).toBe('a [redacted] [redacted] b');
      }
      expect(pattern.lastIndex).toBe(5);
    },
  );

  test('with a group named secret lose only that', async () => {
    const patterns = [/pin:(?<secret>\d+)(?<rest>;)/, /(?<secret>x)?none/];

    expect(await text('pin:1234; none', { patterns })).toBe('pin:[redacted]; [redacted]');
  });

  test('that match nothing at a place change nothing there', async () => {
    expect(await text('ab', { patterns: [/\b/, /(?=b)/] })).toBe('ab');
  });

  test('are those that were given, whatever is done to the list later', async () => {
    const patterns = [/one/];
    const middleware = redact({ patterns });
    patterns[0] = /two/;

    expect(said(await runOnce(middleware, () => toolResult('one two')))).toBe('[redacted] two');
  });
});

describe('names', () => {
  test('of members are compared without case, spaces, dots, hyphens and underscores, at any depth', async () => {
    const value = { Password: 'a', list: [{ 'X-API-Key': { deep: 1 }, apiKey: 7, 'pin code': 'b' }], passwords: 'c' };

    expect(await json(value, { names: ['PinCode'] })).toEqual({
      Password: '[redacted]',
      list: [{ 'X-API-Key': '[redacted]', apiKey: '[redacted]', 'pin code': '[redacted]' }],
      passwords: 'c',
    });
    expect(await text('{"pin-code" : "1234"}', { names: ['PinCode'] })).toBe('{"pin-code" : "[redacted]"}');
  });

  test('keep values that say nothing: null, true and false, the empty text', async () => {
    const value = { password: null, token: true, secret: '', cookie: false, pwd: undefined };

    expect(await json(value)).toEqual(value);
  });

  test('may hold any character', async () => {
    const names = ['a+b*(c', 'schlüssel', '鍵', '🔑'];
    const value = { 'a+b*(c': 'x', schlüssel: 'x', 鍵: 'x', '🔑': 'x' };

    expect(Object.values((await json(value, { names })) as object)).toEqual(Array(4).fill('[redacted]'));
    expect(await text(JSON.stringify(value), { names })).toBe(JSON.stringify(value).replaceAll('"x"', '"[redacted]"'));
  });
});

describe('what is looked through', () => {
  const values = ['hunter2'];

  test('are texts, JSON with its keys, and names of files; the data of images and files stay', async () => {
    const data = new TextEncoder().encode('hunter2');
    const result = await parts(
      [
        { type: 'text', text: 'a hunter2' },
        { type: 'json', value: { hunter2: ['hunter2', 1] } },
        { type: 'image', mediaType: 'image/png', data },
        { type: 'file', mediaType: 'text/hunter2', data: 'hunter2', filename: 'hunter2.txt' },
        { type: 'file', mediaType: 'text/plain', data: '' },
      ],
      { values },
    );

    expect(said(result)).toEqual([
      'a [redacted]',
      { '[redacted]': ['[redacted]', 1] },
      { type: 'image', mediaType: 'image/png', data },
      { type: 'file', mediaType: 'text/[redacted]', data: 'hunter2', filename: '[redacted].txt' },
      { type: 'file', mediaType: 'text/plain', data: '' },
    ]);
  });

  test('keeps whether a result is an error, and whether it ends the turn', async () => {
    const error = await runOnce(redact({ values }), () => toolResult('hunter2', { isError: true, endTurn: true }));

    expect(error).toMatchObject({ isError: true, endTurn: true, content: [{ text: '[redacted]' }] });
  });

  test('keeps members apart whose keys become the same', async () => {
    expect(await json({ hunter2: 1, '[redacted]': 2, xhunter2: 3 }, { values: ['hunter2', 'xhunter2'] })).toEqual({
      '[redacted]': 1,
      '[redacted] (2)': 2,
      '[redacted] (3)': 3,
    });
  });

  test('does not change what the tool holds', async () => {
    const value = { list: ['hunter2'] };
    await json(value, { values });

    expect(value).toEqual({ list: ['hunter2'] });
  });

  test('takes keys such as __proto__ as data', async () => {
    const value: unknown = JSON.parse('{"__proto__":{"password":"x"},"constructor":"hunter2"}');

    expect(JSON.stringify(await json(value, { values }))).toBe(
      '{"__proto__":{"password":"[redacted]"},"constructor":"[redacted]"}',
    );
    expect(Reflect.get({}, 'password')).toBeUndefined();
  });

  test('takes values as JSON sees them', async () => {
    class Row {
      readonly note = 'hunter2';
      readonly at = new Date(0);
    }
    const value = { row: new Row(), own: { toJSON: () => ({ token: 'x' }) }, boxed: new String('hunter2') };

    expect(await json(value, { values })).toEqual({
      row: { note: '[redacted]', at: '1970-01-01T00:00:00.000Z' },
      own: { token: '[redacted]' },
      boxed: '[redacted]',
    });
  });

  test('leaves what JSON cannot carry for the loop to refuse', async () => {
    const map = new Map([['hunter2', 1]]);
    const bytes = new Uint8Array(2);

    expect(await json({ map, bytes, n: 1n }, { values })).toEqual({ map, bytes, n: 1n });
  });

  test('ends with cycles, and with values that are nested without end', async () => {
    const cycle: Record<string, unknown> = { note: 'hunter2' };
    cycle.list = [cycle];
    const copy = (await json(cycle, { values })) as { note: string; list: unknown[] };
    const endless = { toJSON: () => ({ inside: endless }) };
    let deep: unknown = 'hunter2';
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];

    expect(copy.note).toBe('[redacted]');
    expect(copy.list[0]).toBe(copy);
    expect(await json(endless, { values })).toBeTypeOf('object');
    expect(depthOf(await json(deep, { values }))).toBeTypeOf('object');
  });

  test.each<readonly [string, () => unknown, string]>([
    ['too large', () => new Array(2 ** 31), 'it is too large: return less of it'],
    [
      'hostile',
      () => ({
        get broken(): never {
          throw new Error('hunter2');
        },
      }),
      'reading it failed',
    ],
    ['a revoked proxy', () => revoked(), 'reading it failed'],
  ])('says of a result that is %s that it could not be searched, and nothing of it', async (_, make, why) => {
    const result = await parts([{ type: 'json', value: make() }], { values });

    expect(result.isError).toBe(true);
    expect(said(result)).toBe(`the tool ran, but its result could not be searched for secrets: ${why}`);
  });

  test.each<readonly [unknown, unknown]>([
    ['a hunter2', 'a [redacted]'],
    [{ note: 'hunter2' }, { note: '[redacted]' }],
    [new Error('a hunter2'), 'a [redacted]'],
    [undefined, []],
    [null, []],
  ])('takes what is no result (%j) as what a tool returns', async (given, expected) => {
    expect(said(await runOnce(redact({ values }), () => given as never))).toEqual(expected);
  });

  test('leaves odd parts for the loop to refuse', async () => {
    const odd = [
      { type: 'video', text: 1 },
      { type: 'text', text: 7 },
    ] as unknown as ToolContent[];

    expect((await parts(odd, { values })).content).toEqual(odd);
  });
});

/** The innermost of lists of one item. */
function depthOf(value: unknown): unknown {
  let inner = value;
  for (let depth = 0; depth < 200_000 && Array.isArray(inner); depth++) inner = inner[0];
  return inner;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('what is thrown', () => {
  test('is thrown as it is where its message holds no secret', async () => {
    const error = new TypeError('no');

    expect(await thrown(error)).toBe(error);
    expect(await thrown(7)).toBe(7);
    expect(await thrown(undefined)).toBeUndefined();
  });

  test('is another error of the same name, without cause and stack of the first, where it does', async () => {
    const error = new TypeError('no: hunter2', { cause: new Error('hunter2') });
    const clean = await thrown(error);

    expect(clean).toMatchObject({ name: 'TypeError', message: 'no: [redacted]' });
    expect(clean).not.toHaveProperty('cause');
    expect((clean as Error).stack).not.toContain('hunter2');
  });

  test('loses secrets also where it is no error', async () => {
    expect(await thrown('no: hunter2')).toMatchObject({ message: 'no: [redacted]' });
    expect(await thrown({ message: 'no: hunter2', detail: 'hunter2' })).toEqual(new Error('no: [redacted]'));
  });

  test('loses secrets that control characters keep apart, which the loop takes out', async () => {
    expect(await thrown(new Error('no: hun\u0000ter\u009f2'))).toMatchObject({ message: 'no: [redacted]' });
  });

  test('is told as unreadable where it is', async () => {
    expect(await thrown(revoked())).toMatchObject({ message: 'it failed with an error that cannot be read' });
  });
});

test('what stands in the place of a secret may be chosen', async () => {
  expect(await text('a hunter2', { values: ['hunter2'], replace: '$&$1' })).toBe('a $&$1');
  expect(await text('a hunter2', { values: ['hunter2'], replace: '' })).toBe('a ');
});

test('without the well-known ones nothing goes but what was given', async () => {
  const value = { password: 'x', note: 'Authorization: Bearer 0123456789abcdef0' };

  expect(await json(value, { wellKnown: false })).toEqual(value);
  expect(await text('"password":"x"', { wellKnown: false })).toBe('"password":"x"');
});

test('a secret that is too short, or no text, is refused, and the error does not show it', () => {
  for (const value of ['abc', '    ', 7]) {
    let refusal: unknown;
    try {
      redact({ values: ['fine', value as string] });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({
      ...{ kind: 'invalid_middleware', field: 'values[1]' },
      message: '"values[1]" of redact must be a text of at least 4 characters',
    });
    expect(refusal).not.toHaveProperty('value');
  }
});
