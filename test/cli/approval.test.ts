/** Calls that ask: at the terminal, and where nobody is, for another process to answer. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { scriptedModel } from 'looprig/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ServedReply, serveModel } from './model-server.ts';
import { type InTerminal, startInPipe, startInTerminal } from './terminal.ts';

let folder: string;
let workspace: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-approval-'));
  workspace = await mkdtemp(join(tmpdir(), 'looprig-approval-folder-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await rm(workspace, { recursive: true, force: true });
});

const env = (): Record<string, string> => ({ LOOPRIG_STORE: join(folder, 'sessions.db') });

/** A model that wants to write files, all at once, and then says how that was. */
function writes(...paths: readonly string[]): ServedReply[] {
  return [
    { calls: paths.map(path => ({ name: 'write_file', input: { path, content: 'hello\n' } })) },
    { text: ['So be it.'] },
  ];
}

const written = (): Promise<string[]> => readdir(workspace);

function inTerminal(model: string, options: readonly string[] = [], columns = 80): InTerminal {
  return startInTerminal(['run', 'write', '--workspace', workspace, '--model', model, ...options], {
    env: env(),
    columns,
  });
}

/** Runs the program without a terminal. */
async function inPipe(args: readonly string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const { ended, stdout, stderr } = startInPipe(args, { env: env() });
  const { exitStatus } = await ended;
  return { status: exitStatus, stdout: stdout(), stderr: stderr() };
}

function running(model: string, options: readonly string[] = []): string[] {
  return ['run', 'write', '--workspace', workspace, '--model', model, ...options];
}

const ASKED = '(?: help) ›';

/** What a model was told of its calls. */
function told(body: unknown): string[] {
  const { messages } = body as { messages: { role: string; content: string }[] };
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

describe('at the terminal, by default', () => {
  it('a call shows what it wants, and runs after y', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, screen, type, answer } = inTerminal(server.model);
    await sees(ASKED);
    expect(await written()).toEqual([]);
    expect(screen.lines.slice(-3)).toEqual([
      '? write_file: write new.txt (1 line)',
      '  fs.write: new.txt (write 1 line to new.txt)',
      `  allow? y, n, a, e, s, q ${ASKED}`,
    ]);
    expect(screen.lookOf('? write_file')).toBe('bold');
    type('y');
    expect((await ended).exitStatus).toBe(0);
    expect(await written()).toEqual(['new.txt']);
    expect(answer()).toBe('So be it.\n');
    expect(screen.text).toMatch(/\(\?: help\) › y\n\n✓ write_file new\.txt \(1 line\) {2}\d+ ms\n/);
  });

  it('a call does not run after n, and the model reads why', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, type } = inTerminal(server.model);
    await sees(ASKED);
    type('n  not this one ');
    expect((await ended).exitStatus).toBe(0);
    expect(await written()).toEqual([]);
    expect(told(server.requests[1]?.body)).toEqual(['permission denied: not this one']);
  });

  it('calls are asked about one after another, and a likes the like of it for the session', async () => {
    await using server = await serveModel([...writes('a.txt', 'b.txt', 'a.txt'), ...writes('a.txt')]);
    const first = inTerminal(server.model);
    await first.sees('fs.write: a.txt');
    await first.sees(ASKED);
    first.type('always');
    await first.sees('fs.write: b.txt');
    await first.sees(`b.txt (write 1 line to b.txt)\n  allow? y, n, a, e, s, q ${ASKED}`);
    first.type('no');
    expect((await first.ended).exitStatus).toBe(0);
    expect(first.screen.text.split(ASKED)).toHaveLength(3); // the third call was allowed with the first
    const second = startInTerminal(['run', '--session', 'last', 'again'], { env: env() });
    expect((await second.ended).exitStatus).toBe(0);
    expect(second.screen.text).not.toContain(ASKED);
    expect(await written()).toEqual(['a.txt']);
  });

  it('s shows the arguments, whole and safe; any other word shows what there is to say', async () => {
    const hostile = '\u001b[2J\u202e\n\ttail';
    await using server = await serveModel([
      { calls: [{ name: 'write_file', input: { path: 'new.txt', content: hostile } }] },
      { text: ['So be it.'] },
    ]);
    const { ended, sees, screen, type } = inTerminal(server.model);
    await sees(ASKED);
    type('s');
    await sees('"content": "\\u001b[2J<U+202E>\\n\\ttail"');
    type('perhaps');
    await sees('n (no): it may not');
    expect(await written()).toEqual([]);
    type('yes');
    expect((await ended).exitStatus).toBe(0);
    expect(screen.wraps).toBe(0);
  });

  it('e lets it run with other arguments, once they fit', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, type } = inTerminal(server.model);
    await sees(ASKED);
    type('e {"path":');
    await sees('what stands after e is not JSON: write it as e {"path":"notes.md"}');
    type('e {"path":"other.txt"}');
    await sees('these arguments cannot be taken');
    expect(await written()).toEqual([]);
    type('edit {"path":"other.txt","content":""}');
    expect((await ended).exitStatus).toBe(0);
    expect(await written()).toEqual(['other.txt']);
  });

  it('what was typed before the question answers nothing', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, type } = inTerminal(server.model);
    type('y');
    await sees(ASKED);
    expect(await written()).toEqual([]);
    type('n');
    expect((await ended).exitStatus).toBe(0);
    expect(await written()).toEqual([]);
  });

  it('Ctrl-C interrupts the turn, and the question is closed', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, stop, screen } = inTerminal(server.model);
    await sees(ASKED);
    stop('SIGINT');
    expect((await ended).exitStatus).toBe(130);
    expect(screen.text).toMatch(/\(\?: help\) ›\n\ninterrupting the turn; /);
    expect(await written()).toEqual([]);
    expect((await inPipe(['sessions'])).stdout).toContain('interrupted');
  });

  it.each([
    ['q', (terminal: InTerminal) => terminal.type('q')],
    ['the end of what is typed', (terminal: InTerminal) => terminal.endInput()],
  ])('%s leaves the question open, and resume asks it again', async (_, leave) => {
    await using server = await serveModel(writes('new.txt'));
    const first = inTerminal(server.model, [], 40);
    await first.sees(ASKED);
    leave(first);
    expect((await first.ended).exitStatus).toBe(5);
    expect(first.screen.text).toContain('■ waiting for you');
    const second = startInTerminal(['resume', 'last'], { env: env(), columns: 40 });
    await second.sees(ASKED);
    second.type('y');
    expect((await second.ended).exitStatus).toBe(0);
    expect(second.screen.text).toMatch(/1 call\nwaits for an answer\n\n\? write_file/);
    expect(await written()).toEqual(['new.txt']);
    expect([first.screen.wraps, second.screen.wraps]).toEqual([0, 0]);
  });

  it('a session that another program went on with is left to it, with status 6', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { ended, sees, type, screen } = inTerminal(server.model);
    await sees(ASKED);
    const store = sqliteStore({ file: env().LOOPRIG_STORE! });
    const loop = defineLoop({ name: 'run', model: scriptedModel([{ text: 'Moved on.' }]) });
    const [stored] = await store.list();
    await using other = await defineRig({ loops: [loop], store }).open({ sessionId: stored!.sessionId });
    await other.run('never mind');
    type('y');
    expect((await ended).exitStatus).toBe(6);
    expect(screen.text.replace(/\s+/g, ' ')).toContain('looprig: another process went on with this session');
    expect(await written()).toEqual([]);
    await store.close();
  });

  it.each(['--json', '--quiet'])('with %s nobody is asked, and what asks is denied', async option => {
    await using server = await serveModel(writes('new.txt'));
    const { ended } = inTerminal(server.model, [option]);
    expect((await ended).exitStatus).toBe(4);
    expect(await written()).toEqual([]);
  });

  it('without colour the question is the same, in plain lines', async () => {
    await using server = await serveModel(writes('new.txt'));
    const args = running(server.model);
    const { ended, sees, screen, type } = startInTerminal(args, { env: { ...env(), NO_COLOR: '1' } });
    await sees(ASKED);
    type('y');
    expect((await ended).exitStatus).toBe(0);
    expect(screen.text).toMatch(
      /\n {2}fs\.write: new\.txt \(write 1 line to new\.txt\)\n {2}allow\? .* › y\n✓ write_file new\.txt/,
    );
  });
});

describe('without a terminal, --approve ask', () => {
  it('leaves the turn waiting with status 5, says how to answer, and another process answers and goes on', async () => {
    await using server = await serveModel(writes('new.txt'));
    const asked = await inPipe(running(server.model, ['--approve', 'ask']));
    expect(asked).toMatchObject({ status: 5, stdout: '' });
    expect(asked.stderr).toMatch(/\ngate [0-9a-f]{8}: write_file wants fs\.write: new\.txt\n/);
    const [, command = ''] =
      /: looprig (answer [0-9a-f]{8} yes) \(or no\), then looprig resume /.exec(asked.stderr) ?? [];
    expect((await inPipe(['sessions'])).stdout).toContain('waiting');
    expect((await inPipe(['show', 'last'])).stdout).toMatch(/\nunfinished: 1 call waits for an answer\ngate /);

    // Nobody can be asked here either.
    expect(await inPipe(['resume', 'last'])).toMatchObject({ status: 5, stdout: '' });
    expect(await written()).toEqual([]);

    const answered = await inPipe(command.split(' '));
    expect(answered).toMatchObject({ status: 0, stdout: 'allowed: write_file wants fs.write: new.txt\n' });
    expect(answered.stderr).toMatch(/^to go on: looprig resume [0-9a-f]{8}\n$/);
    expect(await written()).toEqual([]);
    expect(await inPipe(command.split(' '))).toMatchObject({ status: 2 });

    expect(await inPipe(['resume', 'last'])).toMatchObject({ status: 0, stdout: 'So be it.\n' });
    expect(await written()).toEqual(['new.txt']);
  });

  it('answers gates one by one, in any order, or all that are left', async () => {
    await using server = await serveModel(writes('a.txt', 'b.txt', 'c.txt'));
    const { stderr } = await inPipe(running(server.model, ['--approve', 'ask']));
    const gates = [...stderr.matchAll(/^gate ([0-9a-f]{8}):/gm)].map(([, gate]) => gate!);
    expect(gates).toHaveLength(3);
    expect(stderr).toContain('GATE yes (or no)');
    const vague = await inPipe(['answer', 'last', 'yes']);
    expect(vague.stderr).toContain(`has 3 open gates: say which of ${gates.join(', ')}, or all`);
    const unknown = await inPipe(['answer', 'last', 'xyz', 'yes']);
    expect(unknown.stderr).toContain(`there is no open gate "xyz" in session`);
    expect([vague.status, unknown.status]).toEqual([2, 2]);
    const second = await inPipe(['answer', 'last', gates[1]!, 'no', '--reason', 'not that']);
    expect(second.stderr).toContain('2 more wait for an answer');
    expect((await inPipe(['answer', 'last', 'all', 'yes'])).stdout.split('\n')).toHaveLength(3);
    expect((await inPipe(['resume', 'last'])).status).toBe(0);
    expect(await written()).toEqual(['a.txt', 'c.txt']);
    expect(told(server.requests[1]?.body)[1]).toBe('permission denied: not that');
  });

  it.each([
    ['all', ['new.txt'], 0],
    ['none', [], 4],
  ])('resume with --approve %s answers for what is open', async (approve, files, status) => {
    await using server = await serveModel(writes('new.txt'));
    await inPipe(running(server.model, ['--approve', 'ask']));
    expect((await inPipe(['resume', 'last', '--approve', approve])).status).toBe(status);
    expect(await written()).toEqual(files);
  });

  it('tells programs what waits', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { status, stdout } = await inPipe(running(server.model, ['--approve', 'ask', '--json']));
    const last: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1)!);
    expect(status).toBe(5);
    expect(last).toMatchObject({
      ...{ type: 'result', status: 'waiting', exitStatus: 5, sessionId: expect.any(String) },
      gates: [
        { gateId: expect.any(String), toolName: 'write_file', requests: [{ action: 'fs.write', target: 'new.txt' }] },
      ],
    });
    const resumed = await inPipe(['resume', 'last', '--json']);
    expect({ ...resumed, stdout: JSON.parse(resumed.stdout) as unknown }).toMatchObject({ status: 5, stdout: last });
    expect(await inPipe(['answer', 'last', 'always', '--json'])).toMatchObject({ status: 0, stderr: '' });
  });

  it('needs a store to wait in', async () => {
    await using server = await serveModel(writes('new.txt'));
    const { status, stderr } = await inPipe(running(server.model, ['--approve', 'ask', '--no-store']));
    expect(status).toBe(2);
    expect(stderr).toBe(
      'looprig: --approve ask needs a terminal to ask in, or a store to wait in: leave out --no-store\n',
    );
    expect(server.requests).toEqual([]);
  });
});
