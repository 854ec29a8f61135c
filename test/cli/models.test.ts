/** `--model`: models that are there, and sentences for those that are not. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveModel } from './model-server.ts';
import { runProgram } from './program.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEY = 'sk-fake-0123456789abcdef';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-models-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a model that cannot be had is one sentence and status 2', () => {
  it.each([
    [
      'gpt-5',
      'there is no model "gpt-5": give demo, anthropic/NAME, openai/NAME, google/NAME, compatible:URL#NAME or replay:FILE',
    ],
    ['mistral/large', 'there is no model "mistral/large": give demo, '],
    ['openai/', 'there is no model "openai/": give demo, '],
    ['anthropic/claude', 'the model anthropic/claude needs a key: set the environment variable ANTHROPIC_API_KEY'],
    ['openai/gpt', 'the model openai/gpt needs a key: set the environment variable OPENAI_API_KEY'],
    ['google/gemini', 'the model google/gemini needs a key: set the environment variable GOOGLE_GENERATIVE_AI_API_KEY'],
    [
      'compatible:http://localhost:1/v1',
      '--model compatible: needs an address and a model: for example compatible:http://localhost:8080/v1#NAME',
    ],
    ['compatible:localhost#x', '--model compatible: needs an address and a model'],
    ['compatible:file:///etc#x', '--model compatible: needs an address and a model'],
    ['replay:no-such.json', 'the recording no-such.json cannot be read: give the path of a file that exists'],
  ])('%s', async (model, sentence) => {
    const { status, stdout, stderr } = await runProgram(['run', 'hi', '--model', model], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`looprig: ${sentence}`);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each([
    ['not json', 'is no recording: it is not JSON'],
    ['{"name":"x"}', 'cannot be played: "provider" of a recording must be a string, not undefined'],
  ])('a recording that holds %j', async (text, sentence) => {
    const path = join(folder, 'recording.json');
    await writeFile(path, text);
    const { status, stderr } = await runProgram(['run', '--model', `replay:${path}`]);
    expect(status).toBe(2);
    expect(stderr).toBe(`looprig: ${path} ${sentence}\n`);
  });

  it('a key that is empty is none', async () => {
    const { status } = await runProgram(['run', 'hi', '--model', 'openai/gpt'], { env: { OPENAI_API_KEY: ' ' } });
    expect(status).toBe(2);
  });

  it('a password in an address is refused, and not repeated', async () => {
    const { status, stderr } = await runProgram(['run', 'hi', '--model', 'compatible:http://me:secret@localhost/v1#x']);
    expect(status).toBe(2);
    expect(stderr).toContain('set the environment variable LOOPRIG_API_KEY');
    expect(stderr).not.toContain('secret');
  });

  it('a prompt that is missing', async () => {
    const { status, stderr } = await runProgram(['run', '--model', 'openai/gpt'], { env: { OPENAI_API_KEY: KEY } });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'looprig: there is no prompt: say what is to be done, in quotes\n',
    });
  });

  it('a package that is not installed, by the command that installs it', async () => {
    // The program in a place where only its own dependencies can be found.
    const place = join(folder, 'alone');
    await mkdir(join(place, 'node_modules'), { recursive: true });
    await cp(join(ROOT, 'src'), join(place, 'src'), { recursive: true });
    await writeFile(join(place, 'package.json'), '{ "type": "module", "version": "0.0.0" }');
    for (const name of ['@cfworker', '@noble', 'commander']) {
      await symlink(join(ROOT, 'node_modules', name), join(place, 'node_modules', name));
    }
    const main = join(place, 'src/cli/main.ts');
    const env = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY };
    const packages = [
      ['anthropic/x', '@ai-sdk/anthropic', '4'],
      ['openai/x', '@ai-sdk/openai', '4'],
      ['google/x', '@ai-sdk/google', '4'],
      ['compatible:http://localhost/v1#x', '@ai-sdk/openai-compatible', '3'],
    ] as const;
    for (const [model, name, version] of packages) {
      const { status, stderr } = await runProgram(['run', 'hi', '--model', model], { main, env });
      expect(status).toBe(2);
      const install = `npm install ${name}@${version}`;
      expect(stderr).toBe(`looprig: this model needs the package ${name}, which is not installed: ${install}\n`);
    }
    expect((await runProgram(['run', '--workspace', place, '--quiet'], { main })).status).toBe(0);
  });
});

describe('a model behind an address', () => {
  it('is asked with the key, and answers', async () => {
    await using server = await serveModel([{ text: ['Hello.'] }]);
    const args = ['run', 'hi', '--workspace', folder, '--model', server.model];
    const { status, stdout, stderr } = await runProgram(args, { env: { LOOPRIG_API_KEY: KEY } });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Hello.\n' });
    expect(server.requests[0]?.authorization).toBe(`Bearer ${KEY}`);
    expect(stderr).toContain(`model: served at ${new URL(server.url).host}`);
  });

  it('that refuses the key fails with status 1, and no output ever holds the key', async () => {
    const body = { error: { message: `Incorrect API key provided: ${KEY}`, type: 'invalid_request_error' } };
    await using server = await serveModel([{ failure: { status: 401, body } }]);
    for (const [model, variable, base] of [
      [server.model, 'LOOPRIG_API_KEY', {}],
      ['openai/gpt', 'OPENAI_API_KEY', { OPENAI_BASE_URL: server.url }],
      ['anthropic/claude', 'ANTHROPIC_API_KEY', { ANTHROPIC_BASE_URL: server.url }],
      ['google/gemini', 'GOOGLE_GENERATIVE_AI_API_KEY', { GOOGLE_GENERATIVE_AI_BASE_URL: server.url }],
    ] as const) {
      for (const options of [[], ['--json'], ['--debug']]) {
        const args = ['run', 'hi', '--workspace', folder, '--model', model, ...options];
        const { status, stdout, stderr } = await runProgram(args, { env: { [variable]: KEY, ...base } });
        expect(status).toBe(1);
        expect(stderr).toContain(`check the key in ${variable}\n`);
        expect(stdout + stderr).not.toContain(KEY);
      }
    }
    expect(server.requests).toHaveLength(12);
  });

  it('that says the key in its answer, piece by piece, is not repeated', async () => {
    await using server = await serveModel([{ text: ['Your key is ', ...KEY, '.'] }]);
    const args = ['run', 'hi', '--workspace', folder, '--model', server.model];
    const { stdout } = await runProgram(args, { env: { LOOPRIG_API_KEY: KEY } });
    expect(stdout).toBe('Your key is [redacted].\n');
  });
});

describe('a recording', () => {
  /** One exchange with a call, one with the answer, as a provider would have sent them. */
  const recording = {
    name: 'sum',
    provider: 'openai-compatible',
    api: 'openai-chat',
    model: 'recorded-model',
    exchanges: [
      {
        request: { body: { messages: [] } },
        response: {
          status: 200,
          body: message({
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":3}' } }],
          }),
        },
      },
      {
        request: { body: { messages: [{ role: 'tool', tool_call_id: 'c1', content: '5' }] } },
        response: { status: 200, body: message({ content: 'The sum is 5.' }) },
      },
    ],
  };

  function message(content: object): object {
    const choice = { index: 0, message: { role: 'assistant', ...content }, finish_reason: 'stop' };
    return { id: 'r', object: 'chat.completion', created: 0, model: 'recorded-model', choices: [choice] };
  }

  it.each([[[]], [['--no-stream']], [['--mode', 'read-only']]])(
    'is played with %j to its recorded answer, its tools stood in for',
    async options => {
      const path = join(folder, 'sum.json');
      await writeFile(path, JSON.stringify(recording));
      const { status, stdout, stderr } = await runProgram(['run', '--model', `replay:${path}`, ...options]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'The sum is 5.\n' });
      expect(stderr).toContain('model: replay of sum (recorded-model, recorded)');
      expect(stderr).toContain('✓ add {"a":2,"b":3}');
    },
  );
});
