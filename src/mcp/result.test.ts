import { expect, it } from 'vitest';
import { resultFrom } from './result.ts';

const RULES = { passMedia: [], checkOutput: undefined };
const PNG = 'iVBORw0KGgo=';

const contentOf = async (answer: unknown, rules: Parameters<typeof resultFrom>[1] = RULES) =>
  (await resultFrom(answer, rules)).content;
const text = (value: string) => ({ type: 'text', text: value });

it.each([
  ['the same as JSON text', [text('{ "b": [1, {"c": null}], "a": 1 }')], { a: 1, b: [1, { c: null }] }],
  ['a member as JSON text', [text('[1,2]')], { result: [1, 2] }],
  ['a number', [text('5')], { result: 5 }],
])('structured content takes the place of a text that is %s', async (_what, content, structuredContent) => {
  expect(await contentOf({ content, structuredContent })).toEqual([{ type: 'json', value: structuredContent }]);
});

it.each([
  ['a text that is wrapped', [text('hello')], { result: 'hello' }],
  ['texts that are put together', [text('one'), text('two')], { content: 'one\ntwo' }],
  ['texts that are a list', [text('one'), text('{"a":2}')], { result: ['one', { a: 2 }] }],
  [
    'the very same parts',
    [{ type: 'image', data: PNG, mimeType: 'image/png' }],
    { content: [{ mimeType: 'image/png', data: PNG, type: 'image' }] },
  ],
])('content stands for structured content that is %s', async (_what, content, structuredContent) => {
  expect(await contentOf({ content, structuredContent })).toEqual(await contentOf({ content }));
});

it.each([
  ['says something else', [text('It is 5.')], { result: 5 }],
  ['is text for other text', [text('hello')], { result: 'hello!' }],
  ['has more', [text('{"a":1}')], { a: 1, b: 2 }],
])('both are shown where the structured content %s', async (_what, content, structuredContent) => {
  expect(await contentOf({ content, structuredContent })).toEqual([
    ...content,
    { type: 'json', value: structuredContent },
  ]);
});

it('an image of a kind that models are shown is an image, and any other thing is named', async () => {
  const image = (mimeType: unknown, data: unknown = PNG) => ({ type: 'image', data, mimeType });
  const content = [
    image('image/png'),
    image('IMAGE/JPEG; q=1'),
    image('image/tiff'),
    image(7),
    image('image/png', '%%%'),
  ];
  expect(await contentOf({ content })).toEqual([
    { type: 'image', data: PNG, mediaType: 'image/png' },
    { type: 'image', data: PNG, mediaType: 'image/jpeg' },
    text('[image of type image/tiff, 9 bytes, is left out: it cannot be shown to a model]'),
    text('[image of type application/octet-stream, 9 bytes, is left out: it cannot be shown to a model]'),
    text('[image of type image/png is left out: its data are no base64]'),
  ]);
});

it('audio is named in words, or passed on where that is asked for', async () => {
  const content = [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }];
  expect(await contentOf({ content })).toEqual([
    text('[audio of type audio/wav, 6 bytes, is left out: it cannot be shown to a model]'),
  ]);
  expect(await contentOf({ content }, { ...RULES, passMedia: ['audio/'] })).toEqual([
    { type: 'file', data: 'UklGRg==', mediaType: 'audio/wav' },
  ]);
});

it('a resource is its text, its image, its file, or its name', async () => {
  const resource = (more: object) => ({ type: 'resource', resource: { uri: 'file:///a/b%20c.txt', ...more } });
  const content = [
    resource({ text: 'plain', mimeType: 'text/plain' }),
    resource({ blob: btoa('{"a":"\u00c3\u00a4"}'), mimeType: 'application/json' }),
    resource({ blob: PNG, mimeType: 'image/png' }),
    resource({ blob: 'JVBERi0=', mimeType: 'application/pdf' }),
    resource({ blob: 'UEsDBA==', mimeType: 'application/zip' }),
    resource({}),
  ];
  expect(await contentOf({ content })).toEqual([
    text('Resource file:///a/b%20c.txt:\nplain'),
    text('Resource file:///a/b%20c.txt:\n{"a":"ä"}'),
    { type: 'image', data: PNG, mediaType: 'image/png' },
    { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf', filename: 'b_20c.txt' },
    text('[resource file:///a/b%20c.txt of type application/zip, 6 bytes, is left out: it cannot be shown to a model]'),
    text('[resource file:///a/b%20c.txt of type application/octet-stream is left out: its data are no base64]'),
  ]);
});

it('a resource link is told in one line, with what is known of it', async () => {
  const content = [
    {
      type: 'resource_link',
      uri: 'file:///x',
      name: 'x',
      title: 'The x',
      mimeType: 'text/plain',
      size: 12,
      description: 'What\nit is',
    },
    { type: 'resource_link', uri: 'file:///y' },
  ];
  expect(await contentOf({ content })).toEqual([
    text('Resource link: The x, file:///x (text/plain, 12 bytes): What it is'),
    text('Resource link: file:///y'),
  ]);
});

it('terminal sequences and control characters do not reach the model', async () => {
  const content = [
    text(
      '\u001b[1;31mred\u001b[0m \u001b]0;title\u0007ok\u001b]8;;http://x\u001b\\link \u0000\u0008\u009b\ttab\r\nend \ud800',
    ),
  ];
  expect(await contentOf({ content })).toEqual([text('red oklink \ttab\r\nend \ufffd')]);
});

it('structured content that is not what the tool promises is shown with a note, but not of a failed call', async () => {
  const rules = { ...RULES, checkOutput: async () => 'n: not a number' };
  expect(await contentOf({ content: [], structuredContent: { n: 'x' } }, rules)).toEqual([
    { type: 'json', value: { n: 'x' } },
    text('[the structured content is not what the tool promises: n: not a number]'),
  ]);
  expect(await resultFrom({ isError: true, content: [text('no')] }, rules)).toMatchObject({
    isError: true,
    content: [text('no')],
  });
});

it('an answer that is nested without an end is refused, wherever in it that is', async () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  for (const answer of [
    { structuredContent: deep },
    { content: [deep] },
    { content: [{ type: 'text', text: 'a' }], _meta: deep },
  ]) {
    const { content, isError } = await resultFrom(answer, { passMedia: [], checkOutput: undefined });
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain('nested more than 500 levels deep; the call may have taken effect');
  }
});

it('very many parts are put together, and what is still too much is left out with a note', async () => {
  const image = { type: 'image', data: PNG, mimeType: 'image/png' };
  const texts = Array.from({ length: 40 }, (_, index) => text(String(index)));
  const joined = await contentOf({ content: [...texts, image, ...texts] });
  expect(joined).toHaveLength(3);
  expect(joined[0]).toEqual(text(Array.from({ length: 40 }, (_, index) => index).join('\n')));
  const images = await contentOf({ content: Array(100).fill(image) });
  expect(images).toHaveLength(64);
  expect(images.at(-1)).toEqual(text('[37 more parts are left out]'));
});
