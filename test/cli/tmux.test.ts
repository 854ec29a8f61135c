/** The program in a real terminal, as tmux shows it. */
import { describe, expect, it } from 'vitest';
import { houseTools, steady, useHouse } from './house.ts';
import { HAS_TMUX, tmuxLeftOut } from './tmux.ts';

/** A loop whose tools wait until the file `go` is there, and one whose tool asks. */
const CONFIG = `${houseTools({ tooHigh: 'roof' })}
const parts = ['roof', 'door', 'wall', 'floor', 'stairs', 'window', 'kitchen', 'cellar'];
const says = (first, then) => scriptedModel(forever(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? then : first)));
const eight = says(
  { reasoning: 'All parts at once.', text: 'I measure.', calls: parts.map(part => ({ tool: 'measure', input: { part } })) },
  { text: 'The house is 4 m wide, but for the roof, which nobody could reach.', deltas: 6 },
);
const one = says({ text: 'I paint.', calls: [{ tool: 'paint', input: { part: 'door' } }] }, { text: 'So be it.' });
const make = (name, model) => defineLoop({ name, model, tools: [measure, paint] });
export default [make('measurer', eight), make('painter', one)];
`;

const PARTS = ['roof', 'door', 'wall', 'floor', 'stairs', 'window', 'kitchen', 'cellar'];

const { open, go } = useHouse(CONFIG);

const MEASURE = 'looprig run Measure --loop .#measurer';
const PAINT = 'looprig run Paint --loop .#painter';
const ASKED = '(?: help) ›';

describe.runIf(HAS_TMUX)(`in a terminal of tmux${tmuxLeftOut(12)}`, () => {
  it('eight calls run beside each other, each in a row, and each row stays with its outcome', async () => {
    await using terminal = await open(MEASURE);
    expect(steady(await terminal.sees('running 8/8'))).toEqual([
      'looprig · scripted/scripted-model',
      '› Measure',
      '',
      'All parts at once.',
      '',
      'I measure.',
      '',
      ...PARTS.map(part => `* measure the ${part} of the house  TIME`),
      '',
      'iterations 1/25 · calls 8/100 · running 8/8 · TIME',
    ]);
    await go();
    const lines = steady(await terminal.ended());
    expect(lines).toContain('✗ measure the roof of the house  TIME  failed');
    expect(lines).toContain('  the roof is too high');
    for (const part of PARTS.slice(1)) expect(lines).toContain(`✓ measure the ${part} of the house  TIME`);
    expect(lines.slice(-6)).toEqual([
      'The house is 4 m wide, but for the roof, which nobody could reach.',
      '',
      '✓ done · steps 2 · iterations 1/25 · calls 8/100 · parallel peak 8/8',
      '30 tokens: 20 in, 10 out · TIME',
      'to go on: looprig run --session SESSION "…"',
      '[status 0]',
    ]);
    expect(lines.join('\n')).not.toMatch(/\*|running/);
    const painted = await terminal.painted();
    expect(painted).toContain('\u001b[31m✗\u001b[39m measure');
    expect(painted).toContain('✓\u001b[39m measure');
  });

  it('in 40 columns no row is wider than the window', async () => {
    await using terminal = await open(MEASURE, { columns: 40 });
    const running = steady(await terminal.sees('run 8/8'));
    expect(running).toContainEqual(expect.stringMatching(/^\* measure the window of the h\S*… {2}TIME$/)); // as far as the time leaves room
    expect(running.at(-1)).toBe('it 1/25 · calls 8/100 · run 8/8');
    await go();
    const lines = steady(await terminal.ended());
    expect(lines).toContainEqual(expect.stringMatching(/^✗ measure the roof of? ?\w*… {2}TIME {2}failed$/));
    expect(lines.slice(-9)).toEqual([
      'The house is 4 m wide, but for the',
      'roof, which nobody could reach.',
      '',
      '✓ done · steps 2 · iterations 1/25',
      'calls 8/100 · parallel peak 8/8',
      '30 tokens: 20 in, 10 out · TIME',
      'to go on: looprig run --session',
      'SESSION "…"',
      '[status 0]',
    ]);
  });

  it('a window of 8 rows shows what it has room for, and nothing of it stays behind', async () => {
    await using terminal = await open(MEASURE, { rows: 8 });
    const running = steady(await terminal.sees('running 8/8'));
    expect(running.slice(-4)).toEqual([
      '* measure the wall of the house  TIME',
      '… and 5 more',
      '',
      expect.stringMatching(/^iterations 1\/25 · /),
    ]);
    await go();
    const lines = steady(await terminal.ended());
    expect(lines.join('\n')).not.toMatch(/\*|and 5 more|running/);
    expect(lines.filter(line => /^[✓✗] measure/u.test(line))).toHaveLength(8);
  });

  it('a window that becomes narrower while calls run is drawn anew', async () => {
    await using terminal = await open(MEASURE);
    await terminal.sees('running 8/8');
    await terminal.resize(40, 24);
    await terminal.sees('run 8/8');
    await go();
    const lines = steady(await terminal.ended());
    expect(lines.filter(line => /^[✓✗] measure/u.test(line))).toHaveLength(8);
    expect(lines.at(-1)).toBe('[status 0]');
  });

  it('a call that asks shows what it wants, its arguments on demand, and runs after y', async () => {
    await using terminal = await open(PAINT);
    expect(steady(await terminal.sees(ASKED)).slice(-4)).toEqual([
      '',
      '? paint: the door, red',
      '  house.paint: door (paint the door red)',
      `  allow? y, n, a, e, s, q ${ASKED}`,
    ]);
    await terminal.type('s', 'Enter');
    await terminal.sees('"part": "door"');
    await terminal.type('y', 'Enter');
    const lines = steady(await terminal.ended());
    expect(lines.slice(-9, -5)).toEqual(['', '✓ paint the door, red  TIME', '', 'So be it.']);
  });

  it('and does not run after n', async () => {
    await using terminal = await open(PAINT, { columns: 40 });
    await terminal.sees(ASKED);
    await terminal.type('n too bright', 'Enter');
    const lines = steady(await terminal.ended());
    expect(lines).toContain('✗ paint the door, red  denied');
    expect(lines).toContain('  permission denied: too bright');
  });

  it('Ctrl-C interrupts, and says of each call that it may have taken effect', async () => {
    await using terminal = await open(MEASURE);
    await terminal.sees('running 8/8');
    await terminal.type('', 'C-c');
    const lines = steady(await terminal.ended());
    expect(lines).toContain('interrupting the turn; Ctrl-C again quits at once');
    expect(lines.filter(line => /^✗ measure .* interrupted$/u.test(line))).toHaveLength(8);
    expect(lines.filter(line => line === '  interrupted; it may or may not have taken effect')).toHaveLength(8);
    expect(lines.at(-4)).toBe('■ interrupted · steps 1 · iterations 1/25 · calls 8/100 · parallel peak 8/8');
    expect(lines.at(-1)).toBe('[status 130]');
  });

  it('a limit that is reached is said with how to allow more', async () => {
    await using terminal = await open(`${MEASURE} --limits calls=3`);
    const lines = steady(await terminal.ended());
    expect(lines.slice(-6)).toEqual([
      'looprig: turn stopped at a limit: the model asked for 8 tool calls, 3 are',
      'allowed in one turn: allow more with --limits calls=8',
      '■ failed at a limit · steps 1 · iterations 0/25 (and 1 refused)',
      'calls 0/3 (and 8 refused) · parallel peak 0/8 · 15 tokens: 10 in, 5 out · TIME',
      'to go on: looprig run --session SESSION "…"',
      '[status 3]',
    ]);
  });

  it('NO_COLOR gives plain lines without an escape sequence', async () => {
    await go();
    await using terminal = await open(MEASURE, { env: { NO_COLOR: '1' } });
    const lines = steady(await terminal.ended());
    expect(lines.slice(0, 4)).toEqual([
      'looprig · model: scripted/scripted-model',
      'prompt: Measure',
      'thinking: All parts at once.',
      'I measure.',
    ]);
    expect(lines).toContain('✗ measure the roof of the house (TIME, failed): the roof is too high');
    expect(await terminal.painted()).not.toContain('\u001b');
  });

  it('a pipe gets the answer and nothing else, while the terminal shows the rest as lines', async () => {
    await go();
    await using terminal = await open(`${MEASURE} | tee answer`);
    const lines = steady(await terminal.ended());
    expect(lines).toContain('✓ measure the door of the house (TIME)');
    await using file = await open('cat answer');
    expect(await file.ended()).toBe('The house is 4 m wide, but for the roof, which nobody could reach.\n[status 0]');
  });

  it('help fits a narrow window', async () => {
    await using terminal = await open('looprig run --help', { columns: 50 });
    const lines = (await terminal.ended()).split('\n');
    expect(lines).toContain('  --mcp SERVER');
    expect(lines).toContain('      offer the tools of an MCP server: a command');
  });

  it('the tab key completes in bash', async () => {
    await using terminal = await open('bash --norc --noprofile');
    await terminal.sees(/[#$>]$/);
    await terminal.type('eval "$(looprig completion bash)"; echo rea""dy', 'Enter');
    await terminal.sees('\nready');
    await terminal.type('looprig sess', 'Tab');
    await terminal.sees('looprig sessions');
    await terminal.type('--st', 'Tab');
    await terminal.type('none', 'Enter');
    await terminal.sees(/looprig sessions --store none\n/);
    await terminal.type('looprig run --approve=n', 'Tab');
    await terminal.sees('--approve=none');
  });
});
