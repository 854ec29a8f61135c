/** Images and files, in what the user says and in the results of tools, as the provider packages of three generations send them. */
import { type ToolContent, toolResult, type UserInput } from 'looprig';
import { scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { exchangesInOneWay } from '../exchanges/read.ts';
import { startReplay } from '../support/replay-server.ts';
import { at, list } from './json.ts';
import { GENERATIONS, type Generation } from './packages.ts';
import { openRecording } from './play.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==';
const PDF = Buffer.from('%PDF-1.4\n').toString('base64');
const ADDRESS = 'https://pictures.example/one.png';

const INPUT: UserInput = [
  { type: 'text', text: 'Look at these.' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
  { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL(ADDRESS) } },
  {
    type: 'file',
    mediaType: 'application/pdf',
    filename: 'a.pdf',
    data: { type: 'data', data: Buffer.from(PDF, 'base64') },
  },
];

const RESULT: readonly ToolContent[] = [
  { type: 'text', text: 'Seen.' },
  { type: 'image', mediaType: 'image/png', data: PNG },
  { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: PDF },
];

/** The requests of a turn whose input and results hold files. */
async function requests(name: string, generation: Generation): Promise<readonly unknown[]> {
  const recording = exchangesInOneWay(name);
  await using server = await startReplay(recording);
  const tools = ['weather', 'clock'].map(tool => scriptedTool(tool, () => toolResult(RESULT)).definition);
  const options = { recording, url: server.urlFor(recording.name), generation, tools };
  await using playing = await openRecording(options);
  const { result } = await playing.finish(playing.session.submit(INPUT));
  expect(result).toMatchObject({ status: 'done' });
  return server.received.map(({ body }) => body);
}

/** The user's message as each format has it. */
const SAID: Readonly<Record<string, readonly unknown[]>> = {
  'anthropic-messages': [
    { type: 'text', text: 'Look at these.' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    { type: 'image', source: { type: 'url', url: ADDRESS } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF }, title: 'a.pdf' },
  ],
  'openai-chat': [
    { type: 'text', text: 'Look at these.' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    { type: 'image_url', image_url: { url: ADDRESS } },
    { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
  ],
  'openai-responses': [
    { type: 'input_text', text: 'Look at these.' },
    { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
    { type: 'input_image', image_url: ADDRESS },
    { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
  ],
  gemini: [
    { text: 'Look at these.' },
    { inlineData: { mimeType: 'image/png', data: PNG } },
    { fileData: { mimeType: 'image/png', fileUri: ADDRESS } },
    { inlineData: { mimeType: 'application/pdf', data: PDF } },
  ],
};

/** A member of each format that holds an image as an image, and not as words. */
const IMAGES: Readonly<Record<string, unknown>> = {
  'anthropic-messages': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
  'openai-responses': { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
  gemini: { inlineData: { mimeType: 'image/png', data: PNG } },
};

const cases = (names: readonly string[]) =>
  names.flatMap(name => GENERATIONS.map(generation => [name, generation] as const));

describe('files', () => {
  it.each(cases(Object.keys(SAID)))('of the user go to %s as files with AI SDK %i', async (name, generation) => {
    const [first] = await requests(name, generation);
    const message = [...list(at(first, 'messages')), ...list(at(first, 'input')), ...list(at(first, 'contents'))][0];
    expect(at(message, 'content') ?? at(message, 'parts')).toEqual(SAID[name]);
  });

  it.each(cases(Object.keys(IMAGES)))('of a result go to %s as files with AI SDK %i', async (name, generation) => {
    const [first, second] = await requests(name, generation);
    const image = JSON.stringify(IMAGES[name]);
    const held = (body: unknown): number => JSON.stringify(body).split(image).length - 1;
    expect(held(second) - held(first)).toBeGreaterThan(0);
    expect(JSON.stringify(second).split(PDF).length).toBeGreaterThan(JSON.stringify(first).split(PDF).length);
  });

  it.each(cases(['openai-chat']))(
    'of a result go to %s as words, since its results are text, with AI SDK %i',
    async (name, generation) => {
      const [, second] = await requests(name, generation);
      const results = list(at(second, 'messages')).filter(message => at(message, 'role') === 'tool');
      expect(results.length).toBeGreaterThan(0);
      for (const result of results) expect(at(result, 'content')).toContain(PNG);
    },
  );
});
