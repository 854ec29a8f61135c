/** Conversations in a terminal of tmux, and with a script. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { houseTools, steady, useHouse } from './house.ts';
import { type Ended, startProgram } from './program.ts';
import { HAS_TMUX, type Tmux, type TmuxOptions, tmuxLeftOut } from './tmux.ts';

/** A loop that measures parts until the file `go` is there, paints what it is allowed to, and repeats what else is said. */
const CONFIG = `${houseTools()}
const call = (tool, parts) => ({ text: 'I ' + tool + '.', calls: parts.map(part => ({ tool, input: { part } })) });
const model = scriptedModel(forever(({ prompt }) => {
  if (prompt.at(-1)?.role === 'tool') return { text: 'It is done.' };
  const words = prompt.at(-1).content.map(part => part.text ?? '').join(' ');
  if (words.startsWith('measure')) return call('measure', ['roof', 'door', 'wall']);
  if (words.startsWith('paint')) return call('paint', words.split(' ').slice(1));
  if (words === 'count') return { text: Array.from({ length: 2000 }, (_, index) => 'n' + index).join(' '), deltas: 2000 };
  return { text: 'You said: ' + words, deltas: 3 };
}));
export default defineLoop({
  name: 'house', model, tools: [measure, paint], modes: { plan: { instructions: 'Plan.' }, act: {} }, initialMode: 'act',
});
`;

const house = useHouse(CONFIG);

const CHAT = 'looprig chat --loop .';
const IDLE = 'act › say what is to be done, or /help';
const WORKING = 'running 3/3';
const ASKED = '(?: help) ›';

/** A conversation in a window of its own, at its first prompt. */
async function open(line = CHAT, options: Partial<TmuxOptions> = {}): Promise<Tmux> {
  const terminal = await house.open(line, options);
  try {
    await terminal.sees(/›/);
  } catch (error) {
    await terminal[Symbol.asyncDispose]();
    throw error;
  }
  return terminal;
}

/** Says a line. */
const say = (terminal: Tmux, line: string): Promise<void> => terminal.type(line, 'Enter');

describe.runIf(HAS_TMUX)(`a conversation in a terminal${tmuxLeftOut(28)}`, () => {
  it('has two turns, and the second prompt is recalled from what was entered before', async () => {
    await using terminal = await open();
    expect(steady(await terminal.sees(IDLE))).toEqual([
      'looprig chat · scripted/scripted-model · session SESSION',
      '',
      IDLE,
    ]);
    await say(terminal, 'hello');
    await terminal.sees(/You said: hello\n[\s\S]*say what/);
    await terminal.type('', 'Up');
    await terminal.sees('act › hello');
    await terminal.type(' again', 'Enter');
    const lines = steady(await terminal.sees(/You said: hello again\n[\s\S]*say what/));
    expect(lines.slice(9)).toEqual([
      '› hello again',
      '',
      'You said: hello again',
      '',
      '✓ done · steps 1 · iterations 0/25 · calls 0/100 · parallel peak 0/8',
      '15 tokens: 10 in, 5 out · TIME',
      '',
      IDLE,
    ]);
    await terminal.type('', 'C-d');
    expect(steady(await terminal.ended()).slice(-2)).toEqual([
      'to go on: looprig chat --session SESSION',
      '[status 0]',
    ]);
  });

  it('goes on later with the last exchange on the screen, and with what was entered', async () => {
    {
      await using terminal = await open();
      await say(terminal, 'remember this');
      await terminal.sees('✓ done');
      await say(terminal, '/quit');
      await terminal.ended();
    }
    expect(await readFile(`${house.store}.history`, 'utf8')).toBe('"remember this"\n"/quit"\n');
    expect((await stat(`${house.store}.history`)).mode & 0o777).toBe(0o600);
    await using terminal = await open(`${CHAT} --session last`);
    await terminal.sees(/› remember this\n\nYou said: remember this\n/);
    await terminal.sees(IDLE);
    await terminal.type('', 'Up', 'Up');
    await terminal.sees('act › remember this');
    await terminal.type('', 'Down', 'Down');
    await terminal.sees(IDLE);
  });

  it('a line that is entered while a turn works is told to it, and one that is queued follows it', async () => {
    await using terminal = await open(`${CHAT} --limits parallel=3`);
    await say(terminal, 'measure it');
    await terminal.sees(WORKING);
    await say(terminal, 'and quickly');
    await say(terminal, '/queue then this');
    await terminal.type('half a li');
    const lines = steady(await terminal.sees('half a li'));
    expect(lines.slice(-8)).toEqual([
      ...['roof', 'door', 'wall'].map(part => `* measure the ${part} of the house  TIME`),
      '',
      'iterations 1/25 · calls 3/100 · running 3/3 · TIME',
      '› and quickly  goes in at the next step',
      '› then this  waits for its turn',
      'act › half a li',
    ]);
    await house.go();
    const after = steady(await terminal.sees(/You said: then this\n[\s\S]*act › half a li$/)).join('\n');
    expect(after).toMatch(/✓ measure the \w+ of the house {2}TIME\n\n› and quickly\n\nYou said: and quickly\n/);
    expect(after).toMatch(/\n\n› then this\n\nYou said: then this\n/);
    expect(after).not.toMatch(/goes in|waits for|\*/);
  });

  it('modes and limits are told, set and completed', async () => {
    await using terminal = await open();
    await terminal.type('/mo', 'Tab');
    await terminal.sees('act › /mode');
    await terminal.type('p', 'Tab');
    await terminal.sees('act › /mode plan');
    await terminal.type('', 'Enter');
    await terminal.sees(/mode plan\n\nplan › say what/);
    await say(terminal, '/mode');
    await terminal.sees('mode plan; there are base, plan, act');
    await say(terminal, '/mode none');
    await terminal.sees('looprig: there is no mode "none": give base, plan or act');
    await say(terminal, '/limits calls=2');
    await terminal.sees('given here: calls=2');
    await say(terminal, 'measure');
    await terminal.sees('allow more with /limits calls=4');
    await terminal.sees('to go on: /continue');
    await say(terminal, '/limits none');
    await terminal.sees(/given here: nothing\nof the loop: iterations=25 · calls=100/);
    await say(terminal, '/limits much');
    await terminal.sees('looprig: /limits: ');
  });

  it('limits hold for what was said to a turn and becomes one of its own, too', async () => {
    await using terminal = await open();
    await say(terminal, 'measure');
    await terminal.sees('calls 3/100');
    await say(terminal, '/limits calls=2');
    await terminal.sees('given here: calls=2');
    await say(terminal, 'measure again');
    await terminal.sees('› measure again  goes in at the next step');
    await terminal.type('', 'C-c');
    await terminal.sees('allow more with /limits calls=4');
  });

  it('the tab key lists commands where there are several, and an unknown one says what there is', async () => {
    await using terminal = await open();
    await terminal.type('/s', 'Tab');
    await terminal.sees(/\n\/session {2}\/sessions {2}\/show\nact › \/s$/);
    await terminal.type('o', 'Enter');
    await terminal.sees(/there is no command \/so: there are \/help, \/mode, /);
    await say(terminal, '//etc is a folder');
    await terminal.sees('You said: /etc is a folder');
  });

  it('help, sessions and the session itself are shown on demand', async () => {
    await using terminal = await open();
    await say(terminal, 'hello');
    await terminal.sees('✓ done');
    await say(terminal, '/help');
    await terminal.sees(/\n\/help {16}this list\n/);
    await say(terminal, '/sessions');
    await terminal.sees(/\nid +age +state +turns +calls +title\n[0-9a-f]{8} +now +done +1 +0 +hello\n/);
    await say(terminal, '/session');
    await terminal.sees(/\nto go on later: looprig chat --session [0-9a-f]{8}\n/);
    await say(terminal, '/clear');
    await terminal.sees(/^\n\nact › say what/);
    await say(terminal, '/show');
    await terminal.sees(/^\nsession [\s\S]*\n› hello\n\nYou said: hello\n/);
  });

  it('calls that ask are decided one after the other, with other arguments too, while nothing is sent by mistake', async () => {
    await using terminal = await open();
    await say(terminal, 'paint door wall gate');
    expect(steady(await terminal.sees(ASKED)).slice(-5)).toEqual([
      '? paint: the door, red',
      '  house.paint: door (paint the door red)',
      '',
      'iterations 0/25 · calls 0/100 · running 0/8 · TIME',
      'allow? y, n, a, e, s, q (?: help) ›',
    ]);
    await say(terminal, 'yes but later');
    await terminal.sees('y (yes): this call may do it, once');
    await say(terminal, 'e');
    await terminal.sees('› e {"part":"door"}');
    await terminal.type('', 'BSpace', 'BSpace', 'BSpace', 'BSpace', 'BSpace', 'BSpace');
    await say(terminal, 'roof"}');
    await terminal.sees('? paint: the wall, red');
    await say(terminal, 'n not that');
    await terminal.sees('? paint: the gate, red');
    await say(terminal, 'a');
    const lines = steady(await terminal.sees(/It is done\.[\s\S]*say what/)).join('\n');
    expect(lines).toContain('  › e {"part":"roof"}\n');
    expect(lines).toContain('  permission denied: not that\n');
    expect(lines).toMatch(/calls 3\/100 · parallel peak \d\/8/);
    await say(terminal, 'paint gate');
    const after = await terminal.sees(/› paint gate[\s\S]*It is done\.[\s\S]*say what/);
    expect(after.slice(after.lastIndexOf('› paint gate'))).not.toContain('?');
  });

  it('a question that comes while something is written waits for the end of it', async () => {
    await using terminal = await open();
    await say(terminal, 'measure');
    await terminal.sees('running 3/8');
    await say(terminal, 'paint door');
    await terminal.type('y is');
    await house.go();
    await terminal.sees('a question waits above: send this line, or empty it (Ctrl-U), to answer');
    await terminal.type('', 'C-u');
    await terminal.sees(ASKED);
    await say(terminal, 'n');
    await terminal.sees(/✗ paint the door, red {2}denied[\s\S]*say what/);
  });

  it('a question whose time is over is gone, and the line is free again', async () => {
    const [before = '', loop = ''] = CONFIG.split('export default ');
    const config = `${before}const house = ${loop}export default { loops: [house], gate: { gateTimeoutMs: 3000 } };`;
    await writeFile(join(house.folder, 'looprig.config.ts'), config);
    await using terminal = await open();
    await say(terminal, 'paint door');
    await terminal.sees(ASKED);
    await terminal.type('ye');
    await terminal.sees(/✗ paint the door, red {2}denied[\s\S]*It is done\.[\s\S]*\nact › say what/);
  });

  it('text that comes in thousands of pieces and a line that is written do not tear each other', async () => {
    await using terminal = await open(CHAT, { rows: 12 });
    await say(terminal, 'count');
    for (let piece = 0; piece < 8; piece++) await terminal.type(`piece ${piece} `);
    const screen = await terminal.sees(/✓ done[\s\S]*piece 7$/);
    expect(screen.match(/\bn\d+/g)).toEqual(Array.from({ length: 2000 }, (_, index) => `n${index}`));
    expect(screen.match(/piece 0.*piece 7/g)).toHaveLength(1);
  });

  it('Ctrl-L empties the screen', async () => {
    await using terminal = await open();
    await say(terminal, 'hello');
    await terminal.sees('✓ done');
    await terminal.type('half', 'C-l');
    await terminal.sees(/^\n\nact › half$/);
  });

  it('a question that is left open ends it with status 5, and is asked again when it goes on', async () => {
    {
      await using terminal = await open();
      await say(terminal, 'paint door');
      await terminal.sees(ASKED);
      await say(terminal, 'q');
      expect(await terminal.ended()).toMatch(/looprig answer [0-9a-f]{8} yes\b[\s\S]*\[status 5\]$/);
    }
    await using terminal = await open(`${CHAT} --session last`);
    await terminal.sees(/› paint door\na turn is unfinished: 1 call waits for an answer\n\ntake it up\? y, n ›$/);
    await say(terminal, 'y');
    await terminal.sees(ASKED);
    await say(terminal, 'y');
    await terminal.sees(/✓ paint the door, red[\s\S]*It is done\.[\s\S]*say what/);
  });

  it('what is unfinished and not taken up ends with the next turn', async () => {
    {
      await using terminal = await open();
      await say(terminal, 'paint door');
      await terminal.sees(ASKED);
      await terminal.type('', 'C-d');
      expect(await terminal.ended()).toMatch(/\[status 5\]$/);
    }
    await using terminal = await open(`${CHAT} --session last`);
    await terminal.sees('take it up? y, n ›');
    await say(terminal, 'n');
    await terminal.sees('it ends with the next turn');
    await say(terminal, 'something else');
    await terminal.sees('You said: something else');
  });

  it('Ctrl-C interrupts a turn, which can be continued; a line that was begun stays', async () => {
    await using terminal = await open();
    await say(terminal, 'measure');
    await terminal.sees('running 3/8');
    await terminal.type('begun', 'C-c');
    const lines = steady(await terminal.sees(/■ interrupted[\s\S]*act › begun$/));
    expect(lines).toContain('interrupting the turn; Ctrl-C again quits at once');
    expect(lines.filter(line => /^✗ measure .* interrupted$/u.test(line))).toHaveLength(3);
    expect(lines.slice(-3)).toEqual(['to go on: /continue', '', 'act › begun']);
    await terminal.type('', 'C-u');
    await say(terminal, '/continue');
    await terminal.sees(/› \/continue\n\nIt is done\.[\s\S]*say what/);
    await say(terminal, '/continue');
    await terminal.sees('looprig: the last turn ended with an answer');
  });

  it('Ctrl-C empties the line at the prompt, and twice quits with status 130', async () => {
    await using terminal = await open();
    await terminal.type('begun');
    await terminal.sees('act › begun');
    await terminal.type('', 'C-c');
    await terminal.sees(IDLE);
    await terminal.type('', 'C-c');
    await terminal.sees(/Ctrl-C again quits\nact ›/);
    await terminal.type('x');
    await terminal.sees(/\n\nact › x$/);
    await terminal.type('', 'BSpace', 'C-c', 'C-c');
    expect(await terminal.ended()).not.toContain('again');
    expect(await terminal.screen()).toMatch(/\[status 130\]$/);
  });

  it('Ctrl-C twice in a turn quits at once', async () => {
    await using terminal = await open();
    await say(terminal, 'measure');
    await terminal.sees('running 3/8');
    await terminal.type('', 'C-c', 'C-c');
    expect(await terminal.ended()).toMatch(/\[status 130\]$/);
  });

  it('the end of the input while a turn works interrupts it, with status 130', async () => {
    await using terminal = await open();
    await say(terminal, 'measure');
    await terminal.sees('running 3/8');
    await terminal.type('', 'C-d');
    const screen = await terminal.ended();
    expect(screen).toContain('■ interrupted');
    expect(screen).toMatch(/\[status 130\]$/);
  });

  it.each([
    ['SIGTERM', 143],
    ['Ctrl-D', 0],
    ['Ctrl-C', 130],
    ['an error', 1],
  ])('the terminal is as it was after %s', async (how, status) => {
    const line = `stty -g > before; sh -c "echo \\$\\$ > pid; exec ${CHAT}"; s=$?; stty -g > after; (exit $s)`;
    await using terminal = await open(line);
    await terminal.type('half');
    await terminal.sees('act › half');
    if (how === 'SIGTERM') process.kill(Number(await readFile(join(house.folder, 'pid'), 'utf8')), 'SIGTERM');
    if (how === 'Ctrl-D') await terminal.type('', 'C-u', 'C-d');
    if (how === 'Ctrl-C') await terminal.type('', 'C-u', 'C-c', 'C-c');
    if (how === 'an error') {
      await rm(house.store);
      await writeFile(house.store, 'no store any more');
      await terminal.type('', 'C-u');
      await say(terminal, '/sessions');
    }
    expect(await terminal.ended()).toContain(`[status ${status}]`);
    expect(await readFile(join(house.folder, 'after'), 'utf8')).toBe(
      await readFile(join(house.folder, 'before'), 'utf8'),
    );
  });

  it('in 40 columns no row is wider than the window, and wide characters are broken between', async () => {
    await using terminal = await open(CHAT, { columns: 40 });
    await terminal.type('漢字'.repeat(12));
    await terminal.sees(/\nact › (漢字){8}\n {6}(漢字){4}$/);
    await terminal.type('', 'Enter');
    await terminal.sees(/You said:\n(漢字){9}漢\n字漢字漢字\n[\s\S]*\nact › say what is to be done, or \/help$/);
    await terminal.resize(60, 24);
    await terminal.type('x');
    await terminal.sees(/\n\nact › x$/);
  });

  it('pasted lines, a backslash and Alt-Enter make one text of several lines, which is recalled as one', async () => {
    await using terminal = await open();
    await terminal.paste('one\ntwo');
    await terminal.sees(/act › one\n {6}two$/);
    await terminal.type('\\', 'Enter');
    await terminal.type('three', 'M-Enter');
    await terminal.type('four');
    await terminal.sees(/act › one\n {6}two\n {6}three\n {6}four$/);
    await terminal.type('', 'C-a', 'BSpace');
    await terminal.sees(/ {6}threefour$/);
    await terminal.type('', 'Enter');
    await terminal.sees(/› one two threefour\n\nYou said: one\ntwo\nthreefour\n[\s\S]*say what/);
    await terminal.type('', 'Up');
    await terminal.sees(/act › one\n {6}two\n {6}threefour$/);
  });

  it('what was typed and what the model says cannot drive the terminal', async () => {
    await using terminal = await open();
    await terminal.paste('\u009b2J red \u202e');
    await terminal.type('', 'Enter');
    await terminal.sees('You said: <U+009B>2J red <U+202E>');
  });

  it('a line that holds a key is not kept, and the key is not shown', async () => {
    await using terminal = await open(CHAT, { env: { OPENAI_API_KEY: 'sk-very-secret-key' } });
    await say(terminal, 'use sk-very-secret-key now');
    await terminal.sees('You said: use [redacted] now');
    expect(await terminal.screen()).not.toContain('very-secret');
    await say(terminal, '/quit');
    await terminal.ended();
    expect(await readFile(`${house.store}.history`, 'utf8')).toBe('"/quit"\n');
  });

  it('goes on after it was stopped by the shell', async () => {
    await using terminal = await open('PS1="› " bash --norc --noprofile');
    await say(terminal, CHAT);
    await terminal.sees(IDLE);
    await terminal.type('half', 'C-z');
    await terminal.sees('Stopped');
    await say(terminal, 'fg');
    await terminal.sees(/fg\n[\s\S]*act › half$/);
    await terminal.type(' and whole', 'Enter');
    await terminal.sees('You said: half and whole');
  });

  it('NO_COLOR gives plain lines, to which lines are said as they come', async () => {
    await using terminal = await open(CHAT, { env: { NO_COLOR: '1' } });
    await say(terminal, 'paint door');
    await terminal.sees(ASKED);
    await say(terminal, 'y');
    await terminal.sees(/✓ paint the door, red \([\s\S]*It is done\.[\s\S]*\n›$/);
    await say(terminal, 'measure');
    await terminal.sees('I measure.');
    await say(terminal, 'and quickly');
    await house.go();
    await terminal.sees(/\n› and quickly\nYou said: and quickly\n/);
    await rm(join(house.folder, 'go'));
    await say(terminal, 'measure');
    await terminal.sees(/› measure\nprompt: measure\nI measure\.\s*$/);
    await terminal.type('', 'C-c');
    await terminal.sees(/\ninterrupted [\s\S]*to go on: \/continue\n›$/);
    await terminal.type('', 'C-c');
    await terminal.sees('Ctrl-C again quits\n›');
    await terminal.type('', 'C-c');
    expect(await terminal.ended()).toMatch(/\[status 130\]$/);
    expect(await terminal.painted()).not.toContain('\u001b');
  });
});

describe('a conversation with a script', () => {
  const talk = async (input: string, options: readonly string[] = []): Promise<Ended> => {
    const args = ['chat', '--loop', house.folder, '--store', house.store, ...options];
    const { child, ended } = startProgram(args, { cwd: house.folder });
    child.stdin.end(input);
    return ended;
  };

  it('has one turn a line, one after the other, and only answers on standard output', async () => {
    await house.go();
    const { status, stdout, stderr } = await talk('hello\n\n/mode plan\nmeasure\nof two \\\nlines');
    expect(status).toBe(0);
    expect(stdout).toBe('You said: hello\nIt is done.\nYou said: of two \nlines\n');
    expect(stderr).toContain('mode plan\n');
    for (const sign of ['\u001b', '›']) expect(stderr).not.toContain(sign);
  });

  it('--quiet and --json are those of a run', async () => {
    expect(await talk('one\ntwo\n', ['--quiet'])).toMatchObject({
      ...{ status: 0, stderr: '', stdout: 'You said: one\nYou said: two\n' },
    });
    const { stdout } = await talk('one\ntwo\n', ['--json']);
    const types = stdout.split('\n').map(line => /"type":"([^"]*)"/.exec(line)?.[1]);
    expect(types.filter(type => type === 'result')).toHaveLength(2);
  });

  it('takes no line after /quit', async () => {
    const { status, stdout, stderr } = await talk('hello\n/quit\nmore\n/nothing\n');
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'You said: hello\n' });
    expect(stderr).not.toMatch(/more|nothing|closed/);
  });

  it('--quiet says what went wrong', async () => {
    for (const [line, problem] of [
      ['/queue', 'looprig: /queue needs the text of the turn that is to follow\n'],
      ['/limits calls=x', 'looprig: /limits: "calls" must be a whole number from 1'],
      ['/nothing', 'looprig: there is no command /nothing'],
    ] as const) {
      const { status, stdout, stderr } = await talk(`${line}\nhello\n`, ['--quiet']);
      expect({ status, stdout }).toEqual({ status: 2, stdout: 'You said: hello\n' });
      expect(stderr).toContain(problem);
      expect(stderr.split('\n')).toHaveLength(2);
    }
  });

  it('gives the status of the last turn that was no plain success', async () => {
    expect(await talk('paint door\nhello\n')).toMatchObject({ status: 4 });
    expect(await talk('measure\nhello\n', ['--limits', 'calls=2'])).toMatchObject({ status: 3 });
    expect(await talk('hello\n/nothing\n')).toMatchObject({ status: 2, stdout: 'You said: hello\n' });
  });

  it('ends where a turn waits for an answer, with status 5', async () => {
    const { status, stdout, stderr } = await talk('paint door\nhello\n', ['--approve', 'ask']);
    expect({ status, stdout }).toEqual({ status: 5, stdout: '' });
    expect(stderr).toMatch(/1 call waits for your answer: looprig answer [0-9a-f]{8} yes/);
  });

  it('keeps no history, and none beside a session that is not kept', async () => {
    await talk('hello\n');
    await expect(stat(`${house.store}.history`)).rejects.toThrow('ENOENT');
  });

  it('refuses a session without a store', async () => {
    expect(await talk('', ['--session', 'last', '--no-store'])).toMatchObject({ status: 2 });
  });
});
